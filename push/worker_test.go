package push_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/push"
)

func TestDelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	r.register(t, "b", "b1")
	r.start(t, push.Config{})
	r.dispatch(t, "hello", "a", "b", "nobody")
	r.settle(t)
	r.wantShown(t, "a1: hello", "a2: hello", "b1: hello")
	r.wantLines(t, map[string]string{"a1: hello": "delivered", "a2: hello": "delivered", "b1: hello": "delivered"})
	for _, d := range r.sim.Deliveries() {
		kept := value[string](t, r, `SELECT p.ticket FROM push_deliveries p JOIN devices d ON d.id = p.device_id WHERE d.token = $1`, d.Token)
		if kept != d.TicketID {
			t.Errorf("%s: kept ticket %s, want %s", d.Token, kept, d.TicketID)
		}
	}
	r.dispatch(t, "hello", "a", "b") // a duplicate
	r.dispatch(t, "again", "b")
	eventually(t, "the second is shown", func() bool { return r.shown()["b1: again"] == 1 })
	r.wantShown(t, "a1: hello", "a2: hello", "b1: hello", "b1: again")
}

// A worker that is told does not wait for its next look.
func TestWake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1")
	w := r.worker(t, push.Config{PollInterval: time.Hour})
	run(t, w)
	r.dispatch(t, "hello", "a")
	w.Wake()
	w.Wake() // more than once is no matter
	eventually(t, "it is shown", func() bool { return r.shown()["a1: hello"] == 1 })
}

func TestT70Badge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1")
	first := r.dispatch(t, "first", "a")
	r.dispatch(t, "second", "a")
	third := r.dispatch(t, "third", "a")
	// Read elsewhere, and archived, before the push of any goes out.
	if _, err := r.store.MarkRead(t.Context(), "a", []inbox.Cursor{first}); err != nil {
		t.Fatal(err)
	}
	r.start(t, push.Config{})
	eventually(t, "all are shown", func() bool { return len(r.shown()) == 3 })
	if _, err := r.store.Archive(t.Context(), "a", []inbox.Cursor{third}); err != nil {
		t.Fatal(err)
	}
	r.dispatch(t, "fourth", "a")
	eventually(t, "the fourth is shown", func() bool { return len(r.shown()) == 4 })
	got := map[string]int{}
	for _, d := range r.sim.Deliveries() {
		got[d.Title] = *d.Badge
	}
	want := map[string]int{"first": 2, "second": 2, "third": 2, "fourth": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("T-70 badges (-want +got):\n%s", diff)
	}
}

// What a device gets: what it has to show, to open and to mark read, and by what it drops a repeat.
func TestMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, platform := range map[string]*inbox.Platform{
		"ios": new(inbox.PlatformIOS), "android": new(inbox.PlatformAndroid), "unknown": nil,
	} {
		in := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token(name), Platform: platform}
		if _, _, err := r.store.RegisterDevice(t.Context(), "a", in); err != nil {
			t.Fatal(err)
		}
	}
	results, err := r.store.Dispatch(t.Context(), &inbox.Event{
		RunID: new("run"), Kind: "kind", Category: "c", Title: "title", Body: new("body"), Recipients: []string{"a"},
		URL: new("https://example.com/"), Data: json.RawMessage(`{"a": 1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.start(t, push.Config{})
	eventually(t, "all are shown", func() bool { return len(r.shown()) == 3 })
	for _, d := range r.sim.Deliveries() {
		var got map[string]any
		if err := json.Unmarshal(d.Data, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"notificationId": inbox.NotificationID("a", results[0].Position), "url": "https://example.com/",
			"kind": "kind", "category": "c", "data": map[string]any{"a": 1.0},
		}
		if diff := cmp.Diff(want, got); diff != "" || d.Title != "title" || d.Body != "body" {
			t.Errorf("%s: title %q, body %q, data (-want +got):\n%s", d.Token, d.Title, d.Body, diff)
		}
		id := value[string](t, r, `SELECT p.id::text FROM push_deliveries p JOIN devices d ON d.id = p.device_id WHERE d.token = $1`, d.Token)
		wantIDs := [2]string{"", id}
		if d.Token == token("ios") {
			wantIDs = [2]string{id, ""}
		}
		if diff := cmp.Diff(wantIDs, [2]string{d.CollapseID, d.Tag}); diff != "" {
			t.Errorf("%s: collapseId and tag (-want +got):\n%s", d.Token, diff)
		}
	}
}

func TestT56OwnSettings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	r.register(t, "b", "b1")
	off := inbox.Preference{Category: "c", Channel: inbox.ChannelPush}
	if _, _, err := r.store.SetPreference(t.Context(), "a", off); err != nil {
		t.Fatal(err)
	}
	r.start(t, push.Config{})
	r.dispatch(t, "hello", "a", "b")
	r.settle(t)
	r.wantShown(t, "b1: hello") // T-56
	r.wantLines(t, map[string]string{
		"a1: hello": "suppressed preference", "a2: hello": "suppressed preference", "b1: hello": "delivered",
	})
}

// What is gone between planning and sending is not sent, and the ledger says why.
func TestGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	r.register(t, "b", "b1")
	deleted := r.dispatch(t, "deleted", "b")
	r.dispatch(t, "kept", "a")
	r.plan(t)
	if _, err := r.store.DeleteNotifications(t.Context(), "b", []inbox.Cursor{deleted}); err != nil {
		t.Fatal(err)
	}
	r.exec(t, `DELETE FROM devices WHERE token LIKE '%a2%'`)
	r.start(t, push.Config{})
	r.settle(t)
	r.wantShown(t, "a1: kept")
	r.wantLines(t, map[string]string{
		"a1: kept": "delivered", "none: kept": "failed device gone", "b1: none": "failed notification deleted",
	})
}

// What has waited too long is not sent any more.
func TestExpired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	r.dispatch(t, "old", "a")
	r.plan(t)
	r.exec(t, `UPDATE push_deliveries SET created_at = created_at - interval '61 minutes'`)
	r.dispatch(t, "new", "a")
	r.start(t, push.Config{QueueFor: time.Hour})
	r.settle(t)
	r.wantLines(t, map[string]string{
		"a1: old": "failed expired", "a2: old": "failed expired", "a1: new": "delivered", "a2: new": "delivered",
	})
	r.wantShown(t, "a1: new", "a2: new")
}

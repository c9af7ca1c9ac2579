package storage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// statuses are what became of an event for each recipient, as "recipient STATUS".
func statuses(results []*inbox.DispatchResult) []string {
	list := make([]string, 0, len(results))
	for _, r := range results {
		list = append(list, r.Recipient+" "+string(r.Status))
	}
	return list
}

func wantStatuses(t *testing.T, results []*inbox.DispatchResult, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, statuses(results)); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestDispatch(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	full := event("full", "z", "a", "z", "m", "a")
	full.ActorID, full.Body, full.URL = new("actor"), new("body\n"), new("https://example.com/")
	full.Data, full.OccurredAt = json.RawMessage(`{"b": 1, "a": 1.0}`), &moment

	results := dispatch(t, store, full)
	wantStatuses(t, results, "z CREATED", "a CREATED", "m CREATED") // by first mention, repeats once
	got := feed(t, store, "a")
	want := []*inbox.Notification{{
		UserID: "a", CreatedAt: moment, ID: results[1].Position.ID, Kind: "kind", Category: "c",
		Actor: inbox.NewActor("actor", nil), Title: "full", Body: full.Body, URL: full.URL, Data: full.Data,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notification (-want +got):\n%s", diff)
	}
	if got, want := *results[1].NotificationID(), got[0].NodeID(); got != want {
		t.Errorf("id: got %s, want %s as in the feed", got, want)
	}
}

func TestDispatchAgain(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	first := dispatch(t, store, event("run", "a", "b"))

	t.Run("T-49 T-50 the same key answers with the first notification", func(t *testing.T) {
		again := dispatch(t, store, event("run", "b", "new", "a"))
		wantStatuses(t, again, "b DUPLICATE", "new CREATED", "a DUPLICATE")
		if diff := cmp.Diff([]inbox.Cursor{first[1].Position, first[0].Position},
			[]inbox.Cursor{again[0].Position, again[2].Position}); diff != "" {
			t.Errorf("positions (-first +again):\n%s", diff)
		}
		if got, want := len(feed(t, store, "a")), 1; got != want {
			t.Errorf("got %d notifications, want %d", got, want)
		}
	})
	t.Run("T-52 other content is a conflict and changes nothing", func(t *testing.T) {
		before := feed(t, store, "a")
		other := event("run", "a", "newer")
		other.Title = "other"
		results := dispatch(t, store, other)
		wantStatuses(t, results, "a CONFLICT", "newer CREATED")
		if diff := cmp.Diff(first[0].Position, results[0].Position); diff != "" {
			t.Errorf("position (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, feed(t, store, "a")); diff != "" {
			t.Errorf("feed (-before +after):\n%s", diff)
		}
	})
	t.Run("a deleted notification does not come back", func(t *testing.T) {
		deleted := place(t, store, event("deleted", "a"))
		if _, err := store.DeleteNotifications(t.Context(), "a", []inbox.Cursor{deleted}); err != nil {
			t.Fatal(err)
		}
		again := dispatch(t, store, event("deleted", "a"))
		wantStatuses(t, again, "a DUPLICATE")
		if diff := cmp.Diff(deleted, again[0].Position); diff != "" {
			t.Errorf("position (-want +got):\n%s", diff)
		}
		if got, want := len(feed(t, store, "a")), 1; got != want {
			t.Errorf("got %d notifications, want %d", got, want)
		}
	})
	t.Run("T-55 recipients have claims of their own", func(t *testing.T) {
		wantStatuses(t, dispatch(t, store, event("shared", "x")), "x CREATED")
		wantStatuses(t, dispatch(t, store, event("shared", "y")), "y CREATED")
		wantStatuses(t, dispatch(t, store, event("shared", "y", "x")), "y DUPLICATE", "x DUPLICATE")
	})
}

func TestDispatchLater(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	first := place(t, store, event("run", "a"))
	for name, age := range map[string]time.Duration{"25 hours": 25 * time.Hour, "8 days": 8 * 24 * time.Hour} {
		t.Run("T-53 replayed after "+name, func(t *testing.T) {
			exec(t, conn, `UPDATE claims SET created_at = now() - $1::interval`, age)
			again := dispatch(t, store, event("run", "a"))
			wantStatuses(t, again, "a DUPLICATE")
			if diff := cmp.Diff(first, again[0].Position); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
			if got, want := len(feed(t, store, "a")), 1; got != want {
				t.Errorf("got %d notifications, want %d", got, want)
			}
		})
	}
}

func TestDispatchMuted(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	wantStatuses(t, dispatch(t, store, event("before", "muted")), "muted CREATED")
	for user, p := range map[string]inbox.Preference{
		"muted":          {Category: "c", Channel: inbox.ChannelInApp},
		"other category": {Category: "d", Channel: inbox.ChannelInApp},
		"other channel":  {Category: "c", Channel: inbox.ChannelPush},
		"switched on":    {Category: "c", Channel: inbox.ChannelInApp, Enabled: true},
	} {
		if _, _, err := store.SetPreference(t.Context(), user, p); err != nil {
			t.Fatal(err)
		}
	}
	results := dispatch(t, store, event("after", "muted", "nobody", "other category", "other channel", "switched on"))
	wantStatuses(t, results, "muted MUTED", "nobody CREATED", "other category CREATED",
		"other channel CREATED", "switched on CREATED")
	if diff := cmp.Diff(&inbox.DispatchResult{Recipient: "muted", Status: inbox.Muted}, results[0]); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	count := `SELECT (SELECT count(*) FROM claims WHERE user_id = 'muted')
		+ (SELECT count(*) FROM notifications WHERE user_id = 'muted')`
	if got, want := value[int](t, conn, count), 2; got != want {
		t.Errorf("got %d claims and notifications, want %d from before", got, want)
	}
	// What was told before stays told.
	wantStatuses(t, dispatch(t, store, event("before", "muted")), "muted DUPLICATE")
	conflict := event("before", "muted")
	conflict.Title = "other"
	wantStatuses(t, dispatch(t, store, conflict), "muted CONFLICT")
}

func TestDispatchStatements(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	conn := connect(t, databaseURL)
	recipients := make([]string, inbox.MaxRecipients)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("user %d", (i*7919)%inbox.MaxRecipients)
	}
	e := event("run", recipients...)
	for _, want := range []inbox.DispatchStatus{inbox.Created, inbox.Duplicate} {
		results := dispatch(t, store, e)
		sent := recorder.take()
		if got := len(sent); got != 1 {
			t.Fatalf("%s: got %d statements, want 1", want, got)
		}
		for i, r := range results {
			if r.Status != want || r.Recipient != recipients[i] {
				t.Fatalf("result %d: got %s %s, want %s %s", i, r.Recipient, r.Status, recipients[i], want)
			}
		}
	}
	if got, want := value[int](t, conn, `SELECT count(DISTINCT user_id) FROM notifications`), len(recipients); got != want {
		t.Errorf("got notifications of %d users, want %d", got, want)
	}
}

// A transaction that has written nothing has no id.
func TestDispatchWritesNothing(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	conn := connect(t, databaseURL)
	dispatch(t, store, event("run", "a", "b"))
	off := inbox.Preference{Category: "c", Channel: inbox.ChannelInApp}
	if _, _, err := store.SetPreference(t.Context(), "muted", off); err != nil {
		t.Fatal(err)
	}
	conflict := event("run", "a", "b")
	conflict.Title = "other"
	for name, tt := range map[string]struct {
		event  *inbox.Event
		writes bool
	}{
		"duplicates": {event("run", "a", "b"), false},
		"conflicts":  {conflict, false},
		"muted":      {event("run", "muted"), false},
		"created":    {event("created", "new"), true}, // the proof that the question is the right one
	} {
		recorder.take()
		dispatch(t, store, tt.event)
		s := recorder.take()[0]
		exec(t, conn, `DELETE FROM claims WHERE user_id = 'new'`)
		exec(t, conn, `BEGIN`)
		exec(t, conn, s.sql, s.args...)
		if got := value[bool](t, conn, `SELECT pg_current_xact_id_if_assigned() IS NOT NULL`); got != tt.writes {
			t.Errorf("%s: has the transaction written: got %v, want %v", name, got, tt.writes)
		}
		exec(t, conn, `ROLLBACK`)
	}
}

// The parts of a key are kept apart whatever they hold.
func TestDispatchKeys(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	keys := [][3]string{ // run, kind, recipient
		{"a:b", "c", "d"},
		{"a", "b:c", "d"},
		{"a", "b", "c:d"},
		{"a%3Ab", "c", "d"},
		{"a", "b%3Ac", "d"},
		{"a%253Ab", "c", "d"},
		{"a%", "3Ab", "c:d"},
		{"a", ":b", "d"},
		{"a:", "b", "d"},
		{"a", "b", ":d"},
		{"A", "b", "d"},
		{"a ", "b", "d"},
		{"ä", "b", "d"},
		{"a\u0308", "b", "d"},
		{strings.Repeat("a", 256), strings.Repeat(":", 128), strings.Repeat("r", 128)},
	}
	for _, want := range []inbox.DispatchStatus{inbox.Created, inbox.Duplicate} {
		for _, k := range keys {
			e := event(k[0], k[2])
			e.Kind = k[1]
			if got := dispatch(t, store, e)[0].Status; got != want {
				t.Errorf("run %q, kind %q, recipient %q: got %s, want %s", k[0], k[1], k[2], got, want)
			}
		}
	}
	hashed := event("", "d")
	hashed.RunID, hashed.IdempotencyKey = nil, new("a:b")
	wantStatuses(t, dispatch(t, store, hashed), "d CREATED")
	wantStatuses(t, dispatch(t, store, hashed), "d DUPLICATE")
}

package retention_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/retention"
)

const day = 24 * time.Hour

// seedDays gives each kind of things ten, from half a day old to nine and a half: of the notifications the even
// ones are unread, and of the activities those go that were to end.
func (r *rig) seedDays(t testing.TB) {
	t.Helper()
	r.exec(t, `
		INSERT INTO notifications (user_id, created_at, id, kind, category, title, read_at)
		SELECT 'u' || i, now() - i * interval '1 day' - interval '12 h', gen_random_uuid(), 'k', 'c', i::text,
		  CASE WHEN i % 2 = 1 THEN now() END FROM generate_series(0, 9) i;
		INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id, created_at)
		SELECT user_id, id::text, '', created_at, id, created_at FROM notifications;
		INSERT INTO activities (user_id, created_at, id, verb, expires_at)
		SELECT user_id, created_at, id, 'did', created_at + interval '5 days' FROM notifications;
		INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state, error, created_at, settled_at)
		SELECT user_id, created_at, id, gen_random_uuid(), 'EXPO', 'failed', 'x', created_at, now() FROM notifications`)
}

// byKind are the numbers of what is swept.
func byKind(swept []retention.Swept) map[string]int {
	kinds := map[string]int{}
	for _, s := range swept {
		kinds[s.Kind] = s.Rows
	}
	return kinds
}

func TestSweep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ttl  retention.TTL
		want map[string]int
		told []string
	}{
		"all is kept": {
			retention.TTL{},
			map[string]int{"notifications": 0, "read notifications": 0, "activities": 5, "claims": 0, "push ledger": 0}, nil,
		},
		"each by its age": {
			retention.TTL{Notifications: 7 * day, Claims: 8 * day, Pushes: 9 * day},
			map[string]int{"notifications": 3, "read notifications": 0, "activities": 5, "claims": 2, "push ledger": 1},
			[]string{"u8"},
		},
		"what is read goes sooner": {
			retention.TTL{Notifications: 7 * day, ReadNotifications: 2 * day},
			map[string]int{"notifications": 3, "read notifications": 2, "activities": 5, "claims": 0, "push ledger": 0},
			[]string{"u8"},
		},
		"what is read alone": {
			retention.TTL{ReadNotifications: 2 * day},
			map[string]int{"notifications": 0, "read notifications": 4, "activities": 5, "claims": 0, "push ledger": 0}, nil,
		},
		"what is read is not kept longer": {
			retention.TTL{Notifications: 2 * day, ReadNotifications: 7 * day},
			map[string]int{"notifications": 8, "read notifications": 0, "activities": 5, "claims": 0, "push ledger": 0},
			[]string{"u2", "u4", "u6", "u8"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.seedDays(t)
			j := r.janitor(retention.Config{TTL: tt.ttl})
			for _, pass := range []struct {
				what   string
				goOver func() ([]retention.Swept, bool, error)
				want   map[string]int
				told   []string
			}{
				{"count", func() ([]retention.Swept, bool, error) { return j.Count(t.Context()) }, tt.want, nil},
				{"sweep", func() ([]retention.Swept, bool, error) { return j.Sweep(t.Context(), 0) }, tt.want, tt.told},
			} {
				swept, ok := untilFree(t, pass.goOver)
				if diff := cmp.Diff(pass.want, byKind(swept)); diff != "" || !ok {
					t.Errorf("%s: %v (-want +got):\n%s", pass.what, ok, diff)
				}
				if diff := cmp.Diff(pass.told, r.told.take()); diff != "" {
					t.Errorf("%s: told (-want +got):\n%s", pass.what, diff)
				}
			}
			left := value[int](t, r, `SELECT count(*) FROM notifications`)
			if want := 10 - tt.want["notifications"] - tt.want["read notifications"]; left != want {
				t.Errorf("got %d notifications left, want %d", left, want)
			}
		})
	}
}

// untilFree repeats what finds the lock taken: Postgres gives it back a moment after a connection is closed.
func untilFree(t testing.TB, goOver func() ([]retention.Swept, bool, error)) (swept []retention.Swept, ok bool) {
	t.Helper()
	eventually(t, "the lock is free", func() bool {
		var err error
		if swept, ok, err = goOver(); err != nil {
			t.Fatal(err)
		}
		return ok
	})
	return swept, ok
}

// Case T-72: while dispatches go on, several janitors remove what is old, one at a time; nothing else goes, and in the
// end each count is its list.
func TestT72SweepUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(t, `INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT 'u' || i % 50, now() - interval '9 days' - i * interval '1 s', gen_random_uuid(), 'k', 'c', 't'
		FROM generate_series(1, 20000) i`)
	for range 3 {
		run(t, r.janitor(retention.Config{TTL: retention.TTL{Notifications: day}, Interval: 10 * time.Millisecond}))
	}
	dispatched := 0
	eventually(t, "what is old is gone", func() bool {
		var users []string
		for i := range 50 {
			users = append(users, fmt.Sprint("u", i))
		}
		dispatched++
		r.dispatch(t, fmt.Sprint("event ", dispatched), nil, users...)
		return value[int](t, r, `SELECT count(*) FROM notifications WHERE created_at < now() - interval '1 day'`) == 0
	})
	for i := range 50 {
		user := fmt.Sprint("u", i)
		badges, err := r.store.Badges(t.Context(), []string{user})
		if err != nil {
			t.Fatal(err)
		}
		pages, err := r.store.FeedPages(t.Context(), []string{user}, inbox.Page{Size: inbox.MaxPage}, inbox.Filter{Status: new(inbox.StatusUnread)})
		if err != nil {
			t.Fatal(err)
		}
		if count, list := int(badges[user].Unread), len(pages[user].Rows); count != dispatched || list != min(dispatched, inbox.MaxPage) {
			t.Errorf("%s: count %d, list %d, want %d", user, count, list, dispatched)
		}
	}
}

// A process that is killed in the middle of a sweep loses nothing: the next one goes on.
func TestSweepIsTakenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(t, `INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT 'u', now() - interval '9 days' - i * interval '1 s', gen_random_uuid(), 'k', 'c', 't' FROM generate_series(1, 5000) i`)
	ttl := retention.TTL{Notifications: day}
	killed := false
	var breaks breaker
	breaks.cut = func() {
		killed = true
		r.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	}
	breaks.left.Store(5)
	victim := r.janitor(retention.Config{TTL: ttl, Store: r.traced(t, &breaks)})
	swept, _, err := victim.Sweep(t.Context(), 0)
	first := byKind(swept)["notifications"]
	if inbox.ErrorCode(err) != inbox.Unavailable || !killed || first == 0 {
		t.Fatalf("the sweep that is killed: got %d gone and %v, want some and %s", first, err, inbox.Unavailable)
	}
	// It has not come to its end, so the next one need not wait.
	swept, _ = untilFree(t, func() ([]retention.Swept, bool, error) {
		return r.janitor(retention.Config{TTL: ttl}).Sweep(context.WithoutCancel(t.Context()), time.Hour)
	})
	if got := byKind(swept)["notifications"]; got != 5000-first {
		t.Errorf("the next sweep: got %d gone, want %d", got, 5000-first)
	}
}

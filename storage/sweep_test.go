package storage_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// beginSweep begins a sweep, which ends with the test at the latest.
func beginSweep(t testing.TB, store *storage.Store) *storage.Sweep {
	t.Helper()
	w, ok, err := store.BeginSweep(t.Context(), 0)
	if err != nil || !ok {
		t.Fatalf("begin a sweep: got %v, %v, want true", ok, err)
	}
	t.Cleanup(func() { w.Close(context.WithoutCancel(t.Context())) })
	return w
}

// advisoryLocks are those of the connection's database.
const advisoryLocks = ` FROM pg_locks WHERE locktype = 'advisory' AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// waitForNoSweep waits until Postgres knows that a connection that had the lock is closed.
func waitForNoSweep(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	eventually(t, "the lock is free", func() bool { return value[int](t, conn, `SELECT count(*)`+advisoryLocks) == 0 })
}

// purge goes over all batches, none of which may be too large.
func purge(t testing.TB, p storage.Purge, remove bool) storage.Purged {
	t.Helper()
	var sum storage.Purged
	for !sum.IsLast {
		b, err := p.Next(t.Context(), remove)
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows > storage.SweepBatch {
			t.Errorf("got a batch of %d, want at most %d", b.Rows, storage.SweepBatch)
		}
		sum.Rows += b.Rows
		sum.Users = append(sum.Users, b.Users...)
		sum.IsLast = b.IsLast
	}
	slices.Sort(sum.Users)
	sum.Users = slices.Compact(sum.Users)
	return sum
}

// Each kind of things goes when it is a microsecond too old, and not before.
func TestSweepCutoffs(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	w := beginSweep(t, store)
	for name, tt := range map[string]struct {
		insert, left string
		purges       func(*storage.Sweep) []storage.Purge
	}{
		"notifications": {
			`INSERT INTO notifications (user_id, created_at, id, kind, category, title) VALUES ('all', $1, gen_random_uuid(), 'k', 'c', 't')`,
			`SELECT min(created_at) FROM notifications WHERE user_id = 'all'`,
			func(w *storage.Sweep) []storage.Purge { return []storage.Purge{w.Notifications(moment)} },
		},
		"read notifications": {
			`INSERT INTO notifications (user_id, created_at, id, kind, category, title, read_at)
				VALUES ('read', $1, gen_random_uuid(), 'k', 'c', 't', now())`,
			`SELECT min(created_at) FROM notifications WHERE user_id = 'read'`,
			func(w *storage.Sweep) []storage.Purge { return w.ReadNotifications(time.Time{}, moment) },
		},
		"claims": {
			`INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id, created_at)
				VALUES ('u', gen_random_uuid()::text, '', now(), gen_random_uuid(), $1)`,
			`SELECT min(created_at) FROM claims`,
			func(w *storage.Sweep) []storage.Purge { return []storage.Purge{w.Claims(moment)} },
		},
		"activities": {
			`INSERT INTO activities (user_id, created_at, id, verb, expires_at) VALUES ('u', now(), gen_random_uuid(), 'did', $1)`,
			`SELECT min(expires_at) FROM activities`,
			func(w *storage.Sweep) []storage.Purge { return []storage.Purge{w.Activities(moment)} },
		},
		"push ledger": {
			`INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state, created_at, sent_at,
				settled_at) VALUES ('u', now(), gen_random_uuid(), gen_random_uuid(), 'EXPO', 'unknown', $1, now(), now())`,
			`SELECT min(created_at) FROM push_deliveries`,
			func(w *storage.Sweep) []storage.Purge { return []storage.Purge{w.Pushes(moment)} },
		},
	} {
		for _, offset := range []time.Duration{-1, 0, 1} {
			exec(t, conn, tt.insert, moment.Add(offset*time.Microsecond))
		}
		for _, remove := range []bool{false, true} {
			gone := 0
			for _, p := range tt.purges(w) {
				gone += purge(t, p, remove).Rows
			}
			if gone != 1 {
				t.Errorf("%s, removed %v: got %d, want 1", name, remove, gone)
			}
		}
		if got := value[time.Time](t, conn, tt.left); !got.Equal(moment) {
			t.Errorf("%s: the oldest left: got %s, want %s", name, got, moment)
		}
	}
}

// However many expire at one instant, a batch is no larger.
func TestSweepOfOneInstant(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	exec(t, conn, `INSERT INTO activities (user_id, created_at, id, verb, expires_at)
		SELECT 'u' || i % 7, now(), gen_random_uuid(), 'did', $1 FROM generate_series(1, 2345) i`, moment)
	w := beginSweep(t, store)
	for _, remove := range []bool{false, true} {
		if got := purge(t, w.Activities(moment.Add(time.Microsecond)), remove).Rows; got != 2345 {
			t.Errorf("removed %v: got %d, want 2345", remove, got)
		}
	}
	if got := value[int](t, conn, `SELECT count(*) FROM activities`); got != 0 {
		t.Errorf("got %d left, want none", got)
	}
}

// An activity without an end never goes.
func TestSweepKeepsActivities(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	exec(t, conn, `INSERT INTO activities (user_id, created_at, id, verb) VALUES ('u', '1970-01-01', gen_random_uuid(), 'did')`)
	w := beginSweep(t, store)
	if got := purge(t, w.Activities(w.Now), true).Rows; got != 0 {
		t.Errorf("got %d gone, want none", got)
	}
}

// Many users with many, few and none, in all states: what goes is what a statement without a walk would
// remove, and nobody's count differs from the list afterwards.
func TestSweepWalk(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"all": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			seedAges(t, conn)
			floor := moment.Add(-8000 * time.Second)
			isOld := `created_at < $1`
			args := []any{moment}
			if read {
				isOld = `created_at < $1 AND created_at >= $2 AND read_at IS NOT NULL`
				args = append(args, floor)
			}
			want := value[int](t, conn, `SELECT count(*) FROM notifications WHERE `+isOld, args...)
			wantUsers := value[[]string](t, conn, `SELECT coalesce(array_agg(DISTINCT user_id), '{}') FROM notifications
				WHERE read_at IS NULL AND archived_at IS NULL AND `+isOld, args...)
			younger := value[int](t, conn, `SELECT count(*) FROM notifications`) - want
			w := beginSweep(t, store)
			for _, remove := range []bool{false, true} {
				purges := []storage.Purge{w.Notifications(moment)}
				if read {
					purges = w.ReadNotifications(floor, moment)
				}
				got := storage.Purged{}
				for _, p := range purges {
					b := purge(t, p, remove)
					got.Rows += b.Rows
					got.Users = append(got.Users, b.Users...)
				}
				if got.Rows != want {
					t.Errorf("removed %v: got %d, want %d", remove, got.Rows, want)
				}
				if !remove {
					continue
				}
				slices.Sort(got.Users)
				slices.Sort(wantUsers)
				got.Users = slices.Compact(got.Users)
				if diff := cmp.Diff(wantUsers, got.Users, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("users who have lost something unread (-want +got):\n%.2000s", diff)
				}
			}
			if got := value[int](t, conn, `SELECT count(*) FROM notifications WHERE `+isOld, args...); got != 0 {
				t.Errorf("got %d old ones left, want none", got)
			}
			if got := value[int](t, conn, `SELECT count(*) FROM notifications`); got != younger {
				t.Errorf("got %d left, want %d", got, younger)
			}
			wantCounts(t, store, "u1", "u2", "u17", "u1499", "heavy")
		})
	}
}

// seedAges gives 1,500 users up to seven notifications each, and one 12,000, around moment.
func seedAges(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	const sql = `INSERT INTO notifications (user_id, created_at, id, kind, category, title, read_at, archived_at)
		SELECT %s, $1::timestamptz + (random() * 20000 - 10000)::int / 5 * 5 * interval '1 s', gen_random_uuid(), 'k', 'c', 't',
		  CASE WHEN random() < 0.5 THEN $1 END, CASE WHEN random() < 0.3 THEN $1 END
		FROM generate_series(1, %d) i`
	exec(t, conn, fmt.Sprintf(sql, `'u' || (i * 7919 % 1500)`, 6000), moment)
	exec(t, conn, fmt.Sprintf(sql, `'heavy'`, 12_000), moment)
}

// wantCounts checks that the users' counts are those of their lists.
func wantCounts(t *testing.T, store *storage.Store, users ...string) {
	t.Helper()
	for _, u := range users {
		list := 0
		p := inbox.Page{Size: inbox.MaxPage}
		for {
			rows := page(t, store, u, p, inbox.Filter{Status: new(inbox.StatusUnread), Archived: new(false)}).Rows
			list += len(rows)
			if len(rows) < inbox.MaxPage {
				break
			}
			p.After = new(rows[len(rows)-1].Cursor())
		}
		if got := int(badge(t, store, u).Unread); got != min(list, inbox.MaxCount) {
			t.Errorf("%s: count %d, list %d", u, got, list)
		}
	}
}

// Users go one after the other in the index's order, and the next batch takes up where one has ended.
func TestSweepOrder(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	for _, u := range []string{"b", "ä", "a", "A", "c d"} {
		fill(t, conn, u, "c", 3000)
	}
	w := beginSweep(t, store)
	p := w.Notifications(moment)
	var order []string
	for {
		b, err := p.Next(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if b.IsLast {
			break
		}
		for _, u := range b.Users {
			if !slices.Contains(order, u) {
				order = append(order, u)
			}
		}
	}
	want := value[[]string](t, conn, `SELECT array_agg(u ORDER BY u) FROM unnest(ARRAY['b', 'ä', 'a', 'A', 'c d']) u`)
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := value[int](t, conn, `SELECT count(*) FROM notifications`); got != 0 {
		t.Errorf("got %d left, want none", got)
	}
}

// Some 250 users of whom nothing goes cost one statement.
func TestSweepSkipsUsers(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	exec(t, connect(t, databaseURL), `INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT 'u' || i, now(), gen_random_uuid(), 'k', 'c', 't' FROM generate_series(1, 2500) i`)
	w := beginSweep(t, store)
	recorder.take()
	purge(t, w.Notifications(moment), true)
	if got, want := len(recorder.names()), 12; got != want {
		t.Errorf("got %d statements for 2,500 users, want %d", got, want)
	}
}

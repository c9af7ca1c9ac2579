package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

func markAll(
	t *testing.T, store *storage.Store, userID string, through *inbox.Cursor, categories []string,
) storage.MarkedAll {
	t.Helper()
	m, err := store.MarkAllRead(t.Context(), userID, through, categories)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkRule applies a mark-all's answer to what a client had cached, as a client does: nothing may look read
// that is not. With ties the rule is too careful instead, until the client reads again.
func checkRule(t *testing.T, store *storage.Store, cached []*inbox.Notification, m storage.MarkedAll, categories []string) {
	t.Helper()
	rule := inbox.Filter{Status: new(inbox.StatusUnread), Categories: categories}
	left := map[inbox.Cursor]bool{}
	for _, n := range unread(t, store, cached[0].UserID) {
		left[n.Cursor()] = true
	}
	for _, n := range cached {
		if matches(rule, n) && !n.CreatedAt.After(m.Through) && left[n.Cursor()] {
			t.Errorf("%s at %s: read by the rule through %s, and unread in truth", n.Title, n.CreatedAt, m.Through)
		}
	}
}

func TestMarkAllRead(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)

	t.Run("T-18 the bell goes out", func(t *testing.T) {
		dispatch(t, store, event("18", "lit"))
		if diff := cmp.Diff(inbox.Badge{Unread: 1, Unseen: 1}, badge(t, store, "lit"), sameCounts); diff != "" {
			t.Errorf("badge before (-want +got):\n%s", diff)
		}
		markAll(t, store, "lit", nil, nil)
		if diff := cmp.Diff(inbox.Badge{}, badge(t, store, "lit"), sameCounts); diff != "" {
			t.Errorf("badge after (-want +got):\n%s", diff)
		}
	})
	for name, n := range map[string]int{
		"T-22 more than a page": 120, "T-23 more than a cap": 730,
		"a batch": 1000, "a batch and one": 1001, "two batches and more": 2730,
	} {
		t.Run(name, func(t *testing.T) {
			fill(t, conn, name, "c", n)
			m := markAll(t, store, name, nil, nil)
			if m.Changed != n {
				t.Errorf("changed: got %d, want %d", m.Changed, n)
			}
			if diff := cmp.Diff(inbox.Badge{}, badge(t, store, name), sameCounts); diff != "" {
				t.Errorf("badge (-want +got):\n%s", diff)
			}
			times := `SELECT count(DISTINCT read_at) FROM notifications WHERE user_id = $1 AND read_at = $2`
			if got, want := value[int](t, conn, times, name, m.ReadAt), 1; got != want {
				t.Errorf("got %d instants of reading, want %d, as answered", got, want)
			}
		})
	}
	t.Run("T-24 what arrives after the newest listed stays", func(t *testing.T) {
		var through inbox.Cursor
		for range 5 {
			through = place(t, store, event(time.Now().String(), "window"))
		}
		listed := feed(t, store, "window")
		sixth := place(t, store, event("sixth", "window"))
		m := markAll(t, store, "window", &through, nil)
		if diff := cmp.Diff(5, m.Changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(through.CreatedAt, m.Through); diff != "" {
			t.Errorf("through (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"sixth"}, titles(unread(t, store, "window"))); diff != "" {
			t.Errorf("unread at %v (-want +got):\n%s", sixth, diff)
		}
		checkRule(t, store, listed, m, nil)
	})
	t.Run("T-26 categories", func(t *testing.T) {
		fill(t, conn, "categories", "ci", 4)
		fill(t, conn, "categories", "reviews", 3)
		listed := feed(t, store, "categories")
		for _, categories := range [][]string{{}, {"none"}} {
			if diff := cmp.Diff(storage.MarkedAll{}, markAll(t, store, "categories", nil, categories)); diff != "" {
				t.Errorf("categories %q (-want +got):\n%s", categories, diff)
			}
		}
		m := markAll(t, store, "categories", nil, []string{"ci"})
		if diff := cmp.Diff(4, m.Changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(inbox.Badge{Unread: 3, Unseen: 3}, badge(t, store, "categories"), sameCounts); diff != "" {
			t.Errorf("badge (-want +got):\n%s", diff)
		}
		checkRule(t, store, listed, m, []string{"ci"})
	})
	t.Run("what is read, archived or another's is let alone", func(t *testing.T) {
		rows := []*inbox.Notification{
			read(row("states", 1, moment)), archived(row("states", 2, moment)), row("states", 3, moment),
		}
		insert(t, conn, append(rows, row("stranger", 4, moment))...)
		if diff := cmp.Diff(1, markAll(t, store, "states", nil, nil).Changed); diff != "" {
			t.Errorf("changed (-want +got):\n%s", diff)
		}
		got, err := store.Notifications(t.Context(), []inbox.NodeID{
			{Kind: inbox.KindNotification, UserID: "states", Position: rows[0].Cursor()},
			{Kind: inbox.KindNotification, UserID: "states", Position: rows[1].Cursor()},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]*inbox.Notification{rows[0].NodeID(): rows[0], rows[1].NodeID(): rows[1]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read and archived (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(int32(1), badge(t, store, "stranger").Unread); diff != "" {
			t.Errorf("another's unread (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(storage.MarkedAll{}, markAll(t, store, "states", nil, nil)); diff != "" {
			t.Errorf("the second time (-want +got):\n%s", diff)
		}
	})
}

// A position lies among what shares its microsecond; the rule that clients apply knows instants alone.
func TestMarkAllReadTies(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	at := func(micros int) time.Time { return moment.Add(time.Duration(micros) * time.Microsecond) }
	for name, tt := range map[string]struct {
		rows       []*inbox.Notification
		through    inbox.Cursor
		categories []string
		changed    int
		want       time.Time
		unread     []string
	}{
		"nothing shares it": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 2, at(1)), row("", 3, at(2))},
			inbox.Cursor{CreatedAt: at(1), ID: numbered(2)}, nil, 2, at(1), []string{"3"},
		},
		"an unread one above shares it": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 2, at(1)), row("", 3, at(1))},
			inbox.Cursor{CreatedAt: at(1), ID: numbered(2)}, nil, 2, at(0), []string{"3"},
		},
		"a read one above shares it": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 2, at(1)), read(row("", 3, at(1)))},
			inbox.Cursor{CreatedAt: at(1), ID: numbered(2)}, nil, 2, at(1), []string{},
		},
		"one below shares it": {
			[]*inbox.Notification{row("", 1, at(1)), row("", 2, at(1))},
			inbox.Cursor{CreatedAt: at(1), ID: numbered(2)}, nil, 2, at(1), []string{},
		},
		"one of another category shares it": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 2, at(1)), {ID: numbered(3), CreatedAt: at(1), Category: "d", Title: "3"}},
			inbox.Cursor{CreatedAt: at(1), ID: numbered(2)}, []string{"c"}, 2, at(1), []string{"3"},
		},
		"the position's own row is gone": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 3, at(5))},
			inbox.Cursor{CreatedAt: at(2), ID: numbered(2)}, nil, 1, at(2), []string{"3"},
		},
		"the position's own row is gone and one above shares it": {
			[]*inbox.Notification{row("", 1, at(0)), row("", 3, at(2))},
			inbox.Cursor{CreatedAt: at(2), ID: numbered(2)}, nil, 1, at(1), []string{"3"},
		},
		"all lie above": {
			[]*inbox.Notification{row("", 3, at(2))},
			inbox.Cursor{CreatedAt: at(2), ID: numbered(2)}, nil, 0, time.Time{}, []string{"3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range tt.rows {
				n.UserID = name
			}
			insert(t, conn, tt.rows...)
			listed := feed(t, store, name)
			got := markAll(t, store, name, &tt.through, tt.categories)
			if got.Changed != tt.changed || !got.Through.Equal(tt.want) || got.ReadAt.IsZero() != (tt.changed == 0) {
				t.Errorf("got %+v, want %d through %s", got, tt.changed, tt.want)
			}
			if diff := cmp.Diff(tt.unread, titles(unread(t, store, name))); diff != "" {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
			checkRule(t, store, listed, got, tt.categories)
		})
	}
}

// Notifications that arrive between the batches of a mark-all without a position stay unread.
func TestMarkAllReadMeanwhile(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	fill(t, conn, "u", "c", 2730)
	// The oldest is held, so that the call waits after its upper end is fixed and before it marks anything.
	blocker, watcher := connect(t, databaseURL), connect(t, databaseURL)
	exec(t, blocker, `BEGIN; SELECT FROM notifications ORDER BY created_at, id LIMIT 1 FOR UPDATE`)
	done := make(chan storage.MarkedAll, 1)
	go func() {
		m, err := store.MarkAllRead(t.Context(), "u", nil, nil)
		if err != nil {
			t.Error(err)
		}
		done <- m
	}()
	waitForBlocked(t, watcher, 1)
	dispatch(t, store, event("meanwhile", "u"))
	exec(t, blocker, `COMMIT`)
	m := <-done
	if diff := cmp.Diff(2730, m.Changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"meanwhile"}, titles(unread(t, store, "u"))); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}

package storage_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

type markFunc func(context.Context, string, []inbox.Cursor) (storage.Marked, error)

// numbers are the titles of a set of numbered positions.
func numbers(positions map[inbox.Cursor]bool) []int {
	list := []int{}
	for at := range positions {
		list = append(list, int(at.ID[15]))
	}
	slices.Sort(list)
	return list
}

// Each mark changes what it can, names what it has changed, and shows all there is as it is afterwards.
func TestMark(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	// 1 is unread, 2 read, 3 archived and unread, 4 archived and read; 5 is somebody else's.
	var positions []inbox.Cursor
	for n := range 5 {
		positions = append(positions, inbox.Cursor{CreatedAt: moment, ID: numbered(n + 1)})
	}
	isRead := func(n *inbox.Notification) bool { return n.ReadAt != nil }
	isArchived := func(n *inbox.Notification) bool { return n.ArchivedAt != nil }
	for _, tt := range []struct {
		name    string
		mark    markFunc
		changed []int
		holds   func(*inbox.Notification) bool
		want    bool
	}{
		{"MarkRead", store.MarkRead, []int{1, 3}, isRead, true},
		{"MarkUnread", store.MarkUnread, []int{2, 4}, isRead, false},
		{"Archive", store.Archive, []int{1, 2}, isArchived, true},
		{"Unarchive", store.Unarchive, []int{3, 4}, isArchived, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exec(t, conn, `DELETE FROM notifications`)
			insert(t, conn, row("u", 1, moment), read(row("u", 2, moment)), archived(row("u", 3, moment)),
				archived(read(row("u", 4, moment))), row("other", 5, moment))
			first, err := tt.mark(t.Context(), "u", append(positions, positions...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.changed, numbers(first.Changed)); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if got, want := len(first.Notifications), 4; got != want {
				t.Errorf("got %d notifications, want %d", got, want)
			}
			for at, n := range first.Notifications {
				if got := tt.holds(n); got != tt.want || n.Cursor() != at {
					t.Errorf("%s at %v: got %v, want %v", n.Title, at, got, tt.want)
				}
			}
			second, err := tt.mark(t.Context(), "u", positions)
			if err != nil {
				t.Fatal(err)
			}
			want := storage.Marked{Notifications: first.Notifications, Changed: map[inbox.Cursor]bool{}}
			if diff := cmp.Diff(want, second); diff != "" {
				t.Errorf("the second time (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		got, err := store.MarkRead(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Changed) != 0 || len(got.Notifications) != 0 {
			t.Errorf("got %v, want nothing", got)
		}
	})
}

// T-08: what is clicked three times is read once.
func TestMarkReadThrice(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	at := place(t, store, event("run", "u"))
	for _, want := range []map[inbox.Cursor]bool{{at: true}, {}, {}} {
		got, err := store.MarkRead(t.Context(), "u", []inbox.Cursor{at})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Changed); diff != "" {
			t.Errorf("T-08 changed (-want +got):\n%s", diff)
		}
		if got, want := badge(t, store, "u").Unread, int32(0); got != want {
			t.Errorf("T-08 unread: got %d, want %d", got, want)
		}
	}
}

func TestDeleteNotifications(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store := open(t, databaseURL)
	rows := []*inbox.Notification{row("u", 1, moment), read(row("u", 2, moment)), row("u", 3, moment), row("other", 4, moment)}
	insert(t, connect(t, databaseURL), rows...)
	at := []inbox.Cursor{rows[3].Cursor(), rows[1].Cursor(), rows[0].Cursor(), rows[1].Cursor()}
	for _, want := range [][]int{{1, 2}, {}} {
		got, err := store.DeleteNotifications(t.Context(), "u", at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, numbers(got)); diff != "" {
			t.Errorf("deleted (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"3"}, titles(feed(t, store, "u"))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"4"}, titles(feed(t, store, "other"))); diff != "" {
		t.Errorf("another's (-want +got):\n%s", diff)
	}
}

// What a mark waited for is in its answer: the row as it is now, not as it was when the call began.
func TestMarkWaits(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn, watcher := open(t, databaseURL), connect(t, databaseURL), connect(t, databaseURL)
	r := row("u", 1, moment)
	insert(t, conn, r)
	exec(t, conn, `BEGIN; UPDATE notifications SET archived_at = now(), read_at = '2026-01-01Z'`)
	var got storage.Marked
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { got, err = store.MarkRead(t.Context(), "u", []inbox.Cursor{r.Cursor()}) })
	waitForBlocked(t, watcher, 1)
	exec(t, conn, `COMMIT`)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changed) != 0 {
		t.Errorf("changed: got %v, want nothing, for it was read meanwhile", got.Changed)
	}
	n := got.Notifications[r.Cursor()]
	if n == nil || n.ArchivedAt == nil || n.ReadAt == nil || !n.ReadAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v, want it archived and read as the other transaction did", n)
	}
}

// Calls that name the same notifications in different orders, and mark-alls among them, wait for each other.
func TestMarkConcurrently(t *testing.T) {
	t.Parallel()
	const rows, goroutines, rounds = 40, 24, 25
	databaseURL := storagetest.URL(t)
	store, conn := open(t, withParam(t, databaseURL, "pool_max_conns", "16")), connect(t, databaseURL)
	positions := make([]inbox.Cursor, rows)
	for i := range positions {
		r := row("u", i, moment.Add(time.Duration(i%7)*time.Microsecond))
		insert(t, conn, r)
		positions[i] = r.Cursor()
	}
	marks := []markFunc{store.MarkRead, store.MarkUnread, store.Archive, store.Unarchive}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(6, uint64(g)))
			for range rounds {
				some := make([]inbox.Cursor, 0, rows)
				for _, i := range random.Perm(rows)[:rows/2] {
					some = append(some, positions[i])
				}
				var err error
				if what := random.IntN(len(marks) + 1); what < len(marks) {
					_, err = marks[what](t.Context(), "u", some)
				} else {
					_, err = store.MarkAllRead(t.Context(), "u", nil, nil)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	// Each notification's deletion is answered once, whoever asks.
	deleted := make([]map[inbox.Cursor]bool, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			shuffled := slices.Clone(positions)
			rand.New(rand.NewPCG(7, uint64(g))).Shuffle(rows, func(i, j int) {
				shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
			})
			var err error
			if deleted[g], err = store.DeleteNotifications(t.Context(), "u", shuffled); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, count := map[inbox.Cursor]bool{}, 0
	for _, d := range deleted {
		maps.Copy(all, d)
		count += len(d)
	}
	if len(all) != rows || count != rows {
		t.Errorf("got %d deletions of %d notifications, want %d", count, len(all), rows)
	}
}

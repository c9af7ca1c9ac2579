package storage_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// patience is how long a caller may have to wait for the answer that there is none.
const patience = 10 * time.Second

// checkUnavailable runs calls of several kinds and wants each to be told, soon, to try again.
func checkUnavailable(t *testing.T, store *storage.Store) {
	t.Helper()
	for name, call := range map[string]func() error{
		"Ping":        func() error { return store.Ping(t.Context()) },
		"CheckSchema": func() error { return store.CheckSchema(t.Context()) },
		"FeedPages": func() error {
			_, err := store.FeedPages(t.Context(), []string{"u"}, inbox.Page{Size: 1}, inbox.Filter{})
			return err
		},
		"Badges": func() error { _, err := store.Badges(t.Context(), []string{"u"}); return err },
		"MarkRead": func() error {
			_, err := store.MarkRead(t.Context(), "u", []inbox.Cursor{{CreatedAt: moment}})
			return err
		},
		"MarkAllRead": func() error { _, err := store.MarkAllRead(t.Context(), "u", nil, nil); return err },
		"MarkSeen":    func() error { return store.MarkSeen(t.Context(), "u", nil) },
		"Dispatch":    func() error { _, err := store.Dispatch(t.Context(), event("down", "u")); return err },
		"RecordActivity": func() error {
			_, _, err := store.RecordActivity(t.Context(), keyed("down", "verb"), 0)
			return err
		},
		"PutItem": func() error { _, err := store.PutItem(t.Context(), tagged("down", "a")); return err },
		"ItemPages": func() error {
			_, err := store.ItemPages(t.Context(), []string{"u"}, inbox.Page{Size: 1}, new("a"))
			return err
		},
		"Settings": func() error { _, err := store.Settings(t.Context(), []string{"u"}); return err },
	} {
		began := time.Now()
		err := call()
		if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
			t.Errorf("%s: got code %q, want %q: %v", name, got, want, err)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("%s: took %s, want at most %s", name, took, patience)
		}
	}
}

func TestPostgresStops(t *testing.T) {
	t.Parallel()
	cluster, databaseURL := storagetest.Cluster(t)
	store := open(t, databaseURL)
	at := place(t, store, event("before", "u"))
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkUnavailable(t, store)
	checkUnavailable(t, open(t, databaseURL)) // one that has never reached it

	reopened, err := devdb.Open(t.Context(), devdb.Config{
		Dir: cluster.Dir(), Volatile: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reopened.Close(); err != nil {
			t.Error(err)
		}
	})
	again := dispatch(t, store, event("before", "u"))
	wantStatuses(t, again, "u DUPLICATE")
	if diff := cmp.Diff(at, again[0].Position); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
}

// While writers work, Postgres is killed, and started again by its supervisor. What was acknowledged is
// there, and what was not is dispatched once when it is tried again.
func TestPostgresKilled(t *testing.T) {
	t.Parallel()
	const writers, events = 4, 200
	cluster, databaseURL := storagetest.Cluster(t)
	store := open(t, databaseURL)
	told := make([]map[string]inbox.Cursor, writers)
	var faults [writers]int
	underway := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for w := range writers {
		told[w] = map[string]inbox.Cursor{}
		wg.Go(func() {
			for i := range events {
				if i == events/4 {
					underway <- struct{}{}
				}
				run := fmt.Sprint(w, "/", i)
				results, count := dispatchStubbornly(t, store, event(run, "u"))
				faults[w] += count
				if results != nil {
					told[w][run] = results[0].Position
				}
			}
		})
	}
	<-underway
	before := cluster.Pid()
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	t.Logf("calls that failed meanwhile: %v", faults)

	got, want := map[inbox.Cursor]bool{}, map[inbox.Cursor]bool{}
	for p := (inbox.Page{Size: inbox.MaxPage}); ; {
		rows := page(t, store, "u", p, inbox.Filter{}).Rows
		for _, n := range rows {
			got[n.Cursor()] = true
		}
		if len(rows) < p.Size {
			break
		}
		p.After = new(rows[len(rows)-1].Cursor())
	}
	for _, runs := range told {
		for _, at := range runs {
			want[at] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notifications (-acknowledged +stored):\n%s", diff)
	}
	if got, want := len(got), writers*events; got != want {
		t.Errorf("got %d notifications, want %d", got, want)
	}
}

// dispatchStubbornly tries until it is answered, and counts the failures, each of which must be Unavailable.
func dispatchStubbornly(t *testing.T, store *storage.Store, e *inbox.Event) (results []*inbox.DispatchResult, faults int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); faults++ {
		results, err := store.Dispatch(t.Context(), e)
		if err == nil {
			return results, faults
		}
		if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
			t.Errorf("got code %q, want %q: %v", got, want, err)
			return nil, faults
		}
		<-tick.C
	}
	t.Error("not answered within 30 s")
	return nil, faults
}

// A call that waits when Postgres dies is told so. It has not happened: no transaction outlives a crash
// half done.
func TestPostgresKilledDuringCall(t *testing.T) {
	t.Parallel()
	cluster, databaseURL := storagetest.Cluster(t)
	store := open(t, databaseURL)
	at := place(t, store, event("before", "u"))
	blocker, watcher := connect(t, databaseURL), connect(t, databaseURL)
	exec(t, blocker, `BEGIN; SELECT FROM notifications FOR UPDATE`)
	done := make(chan error, 1)
	go func() {
		_, err := store.MarkRead(t.Context(), "u", []inbox.Cursor{at})
		done <- err
	}()
	waitForBlocked(t, watcher, 1)
	if err := syscall.Kill(cluster.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got, want := inbox.ErrorCode(<-done), inbox.Unavailable; got != want {
		t.Errorf("got code %q, want %q", got, want)
	}
	eventually(t, "the same store works again", func() bool { return store.Ping(t.Context()) == nil })
	wantBadge(t, store, "u", 1, 1)
}

// A server that accepts connections and says nothing, as one does that is stopped or behind a dead link, is
// given up on.
func TestPostgresHangs(t *testing.T) {
	t.Parallel()
	cluster, databaseURL := storagetest.Cluster(t)
	pid := cluster.Pid()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	store := open(t, databaseURL)
	began := time.Now()
	err := store.Ping(t.Context())
	if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
		t.Errorf("got code %q, want %q: %v", got, want, err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("took %s, want at most %s", took, patience)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the same store works again", func() bool { return store.Ping(t.Context()) == nil })
}

// A caller that goes away is no fault of the database; one whose time is up may try again.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn, watcher := open(t, databaseURL), connect(t, databaseURL), connect(t, databaseURL)
	at := place(t, store, event("run", "u"))
	exec(t, conn, `BEGIN; SELECT FROM notifications FOR UPDATE`)

	t.Run("cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := store.Badges(ctx, []string{"u"})
		checkCancelled(t, err)
		_, err = store.FeedPages(ctx, []string{"u"}, inbox.Page{Size: 1}, inbox.Filter{})
		checkCancelled(t, err)
	})
	t.Run("cancelled during", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := store.MarkRead(ctx, "u", []inbox.Cursor{at})
			done <- err
		}()
		waitForBlocked(t, watcher, 1)
		cancel()
		checkCancelled(t, <-done)
	})
	t.Run("timed out during", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := store.DeleteNotifications(ctx, "u", []inbox.Cursor{at})
		if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
			t.Errorf("got code %q, want %q: %v", got, want, err)
		}
	})
	// Whether a call that was given up has had its effect is open: only that the store goes on is not.
	exec(t, conn, `ROLLBACK`)
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func checkCancelled(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled in its chain", err)
	}
	if inbox.ErrorCode(err) == inbox.Unavailable {
		t.Errorf("got %v, want it not to be Unavailable", err)
	}
}

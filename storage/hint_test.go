package storage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// listener is a call of Listen.
type listener struct {
	heard chan string
	done  chan error
}

// listen returns once the store listens.
func listen(ctx context.Context, t *testing.T, store *storage.Store) *listener {
	t.Helper()
	l := &listener{heard: make(chan string, 10), done: make(chan error, 1)}
	ready := make(chan struct{})
	go func() { l.done <- store.Listen(ctx, func() { close(ready) }, func(hint string) { l.heard <- hint }) }()
	select {
	case <-ready:
	case err := <-l.done:
		t.Fatal(err)
	}
	return l
}

// Every store over the database hears every hint, its own too, in order.
func TestNotify(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	stores := []*storage.Store{open(t, databaseURL), open(t, databaseURL)}
	ctx, cancel := context.WithCancel(t.Context())
	listeners := []*listener{listen(ctx, t, stores[0]), listen(ctx, t, stores[1])}
	longest := strings.Repeat("x", storage.HintLimit)
	for _, hints := range [][]string{{"one", "two"}, {}, {longest, "ü"}} {
		if err := stores[0].Notify(t.Context(), hints); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range listeners {
		for _, want := range []string{"one", "two", longest, "ü"} {
			if diff := cmp.Diff(want, <-l.heard); diff != "" {
				t.Errorf("hint (-want +got):\n%s", diff)
			}
		}
	}
	cancel()
	for _, l := range listeners {
		checkCancelled(t, <-l.done)
	}
	if err := stores[0].Notify(t.Context(), []string{longest + "x"}); err == nil {
		t.Error("a hint above the limit: got no error")
	}
}

// Who listens learns that the connection is lost, and can listen again.
func TestListenBreaks(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := listen(ctx, t, store)
	exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE '%LISTEN%' AND pid <> pg_backend_pid()`)
	if got, want := inbox.ErrorCode(<-l.done), inbox.Unavailable; got != want {
		t.Errorf("got code %q, want %q", got, want)
	}
	l = listen(ctx, t, store)
	if err := store.Notify(t.Context(), []string{"again"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("again", <-l.heard); diff != "" {
		t.Errorf("hint (-want +got):\n%s", diff)
	}
	cancel()
	checkCancelled(t, <-l.done)
}

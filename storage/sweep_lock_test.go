package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// One process sweeps at a time, and none soon after another.
func TestOneSweepAtATime(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	one, two := open(t, databaseURL), open(t, databaseURL)
	w := beginSweep(t, one)
	begin := func(interval time.Duration) bool {
		other, ok, err := two.BeginSweep(t.Context(), interval)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			other.Close(t.Context())
		}
		return ok
	}
	if begin(0) {
		t.Error("got a second sweep beside the first")
	}
	if err := w.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
	waitForNoSweep(t, connect(t, databaseURL))
	if begin(time.Hour) {
		t.Error("got a sweep just after another, want none for an hour")
	}
	waitForNoSweep(t, connect(t, databaseURL))
	if !begin(0) {
		t.Error("got no sweep after the first has ended, where none is too soon")
	}
}

// A sweep that loses its connection has lost its lock, and does not go on.
func TestSweepLosesItsConnection(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	fill(t, conn, "a", "c", 12_000)
	w := beginSweep(t, store)
	p := w.Notifications(moment)
	first, err := p.Next(t.Context(), true)
	if err != nil || first.Rows == 0 {
		t.Fatalf("the first batch: got %d, %v, want some", first.Rows, err)
	}
	exec(t, conn, `SELECT pg_terminate_backend(pid)`+advisoryLocks)
	if _, err := p.Next(t.Context(), true); inbox.ErrorCode(err) != inbox.Unavailable {
		t.Errorf("after the connection is gone: got %v, want %s", err, inbox.Unavailable)
	}
	waitForNoSweep(t, conn)
	next := beginSweep(t, store)
	if got := purge(t, next.Notifications(moment), true).Rows; got != 12_000-first.Rows {
		t.Errorf("the next sweep: got %d gone, want %d", got, 12_000-first.Rows)
	}
}

// A lock taken through a pooler would be nobody's.
func TestSweepBehindAPooler(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	pooled := withParam(t, databaseURL, "default_query_exec_mode", "cache_describe")
	if _, _, err := open(t, pooled).BeginSweep(t.Context(), 0); err == nil {
		t.Error("got a sweep without a connection of its own")
	}
	store := storagetest.Open(t, storage.Config{URL: pooled, ListenURL: databaseURL})
	w, ok, err := store.BeginSweep(t.Context(), 0)
	if err != nil || !ok {
		t.Fatalf("with the database's own address: got %v, %v, want true", ok, err)
	}
	w.Close(t.Context())
}

// What is marked unread between the look and the removal is not read any more, and stays.
func TestSweepLeavesWhatWasMarked(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn, watcher := open(t, databaseURL), connect(t, databaseURL), connect(t, databaseURL)
	insert(t, conn, read(row("a", 1, moment)), read(row("a", 2, moment)))
	w := beginSweep(t, store)
	p := w.ReadNotifications(time.Time{}, moment.Add(time.Second))[0]
	exec(t, conn, `BEGIN`)
	exec(t, conn, `UPDATE notifications SET read_at = NULL WHERE title = '1'`)
	got := make(chan storage.Purged, 1)
	go func() {
		b, err := p.Next(t.Context(), true)
		if err != nil {
			t.Error(err)
		}
		got <- b
	}()
	waitForBlocked(t, watcher, 1)
	exec(t, conn, `COMMIT`)
	if b := <-got; b.Rows != 1 {
		t.Errorf("got %d gone, want 1", b.Rows)
	}
	if diff := cmp.Diff([]string{"1"}, titles(feed(t, store, "a"))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

package push_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/push"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// states counts the lines of the ledger by state and error.
func (r *rig) states(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, state := range r.lines(t) {
		counts[state]++
	}
	return counts
}

// Two processes share the work, and nothing is shown twice.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	const n = 1000
	r := newRig(t)
	users := r.crowd(t, n)
	for range 2 {
		r.start(t, push.Config{Store: storagetest.Open(t, storage.Config{URL: r.databaseURL})})
	}
	for _, title := range []string{"first", "second"} {
		r.dispatch(t, title, users...)
	}
	r.settle(t)
	if got, want := r.wantAtMostOnce(t), 2*n; got != want {
		t.Errorf("got %d shown, want %d", got, want)
	}
	if diff := cmp.Diff(map[string]int{"delivered": 2 * n}, r.states(t)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// hang keeps requests waiting until the client is gone, and counts them.
func hang(waiting *atomic.Int32) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			// The server looks for the end of the connection once the body is read.
			_, _ = io.Copy(io.Discard, req.Body)
			waiting.Add(1)
			<-req.Context().Done()
		})
	}
}

// A producer's dispatch waits neither for the worker nor for a lock of its: while a provider hangs, none
// is held.
func TestDispatchDoesNotWait(t *testing.T) {
	t.Parallel()
	const recipients, withDevices = 10_000, 2000
	var waiting atomic.Int32
	r := newRigOver(t, storagetest.URL(t), hang(&waiting))
	r.crowd(t, withDevices)
	users := names("u", recipients)
	ctx := t.Context()
	impatient := storagetest.Open(t, storage.Config{URL: r.databaseURL + "&lock_timeout=100ms"})
	dispatch := func(title string) {
		t.Helper()
		event := &inbox.Event{RunID: &title, Kind: "kind", Category: "c", Title: title, Recipients: users}
		results, err := impatient.Dispatch(ctx, event)
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			if result.Status != inbox.Created {
				t.Fatalf("%s: got %s, want CREATED", result.Recipient, result.Status)
			}
		}
	}
	const queued = `SELECT count(*) FROM push_queue`
	dispatch("before there is a worker")
	if got, want := value[int](t, r, queued), withDevices; got != want {
		t.Errorf("got %d pushes queued, want %d", got, want)
	}
	stop := r.start(t, push.Config{})
	t.Cleanup(func() { r.server.CloseClientConnections(); stop() })
	eventually(t, "all is planned and six requests hang", func() bool {
		return waiting.Load() == 6 && value[int](t, r, queued) == 0
	})
	dispatch("while the provider hangs")
	eventually(t, "that is planned too", func() bool { return value[int](t, r, queued) == 0 })
	const open = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
	if got := value[int](t, r, open); got != 0 {
		t.Errorf("got %d open transactions, want none", got)
	}
	want := map[string]int{"sending": 600, "queued": 2*withDevices - 600}
	if diff := cmp.Diff(want, r.states(t)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

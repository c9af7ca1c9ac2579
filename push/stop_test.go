package push_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/push"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// slow delays each answer.
func slow(by time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			timer := time.NewTimer(by)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-req.Context().Done():
			}
			next.ServeHTTP(w, req)
		})
	}
}

const sendingLines = `SELECT count(*) FROM push_deliveries WHERE state = 'sending'`

// An orderly stop in the middle of much work waits for what is under way and loses nothing.
func TestStop(t *testing.T) {
	t.Parallel()
	const n, timeout = 1500, 10 * time.Second
	r := newRigOver(t, storagetest.URL(t), slow(100*time.Millisecond))
	stop := r.start(t, push.Config{SendTimeout: timeout})
	r.dispatch(t, "hello", r.crowd(t, n)...)
	eventually(t, "some are shown", func() bool { return r.sim.Stats().Delivered > 0 })
	began := time.Now()
	stop()
	if took := time.Since(began); took > timeout {
		t.Errorf("the stop took %s, want %s at most", took, timeout)
	}
	if got := value[int](t, r, sendingLines); got != 0 {
		t.Errorf("got %d being sent, want none", got)
	}
	shown := len(r.shown())
	if sent := n - value[int](t, r, `SELECT count(*) FROM push_deliveries WHERE state = 'queued'`); shown == n || sent != shown {
		t.Errorf("got %d shown and %d written down, want as many, and some left", shown, sent)
	}
	r.start(t, push.Config{})
	r.settle(t)
	if got := r.wantAtMostOnce(t); got != n {
		t.Errorf("got %d shown, want %d", got, n)
	}
	if diff := cmp.Diff(map[string]int{"delivered": n}, r.states(t)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// quick takes messages without delay and counts them.
type quick struct {
	mu    sync.Mutex
	times map[string]int // guarded by mu: by message
}

func (q *quick) Send(_ context.Context, messages []push.Message) []push.Result {
	q.mu.Lock()
	defer q.mu.Unlock()
	results := make([]push.Result, len(messages))
	for i, m := range messages {
		q.times[m.ID]++
		results[i] = push.Result{Verdict: push.Delivered}
	}
	return results
}

func (*quick) Receipts(context.Context, []string) (map[string]push.Receipt, error) { return nil, nil }

// interrupter is a tracer that calls what is in it soon after a claim of deliveries has begun.
type interrupter struct{ interrupt atomic.Pointer[func()] }

func (i *interrupter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if interrupt := i.interrupt.Load(); interrupt != nil && strings.HasPrefix(data.SQL, "-- name: ClaimDeliveries") {
		time.AfterFunc(time.Duration(rand.IntN(4000))*time.Microsecond, *interrupt)
	}
	return ctx
}

func (*interrupter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A stop just when deliveries are being claimed leaves none of them behind.
func TestStopWhileClaiming(t *testing.T) {
	t.Parallel()
	const n, stops = 4000, 40
	r := newRig(t)
	tracer := &interrupter{}
	store := storagetest.Open(t, storage.Config{URL: r.databaseURL, Tracer: tracer})
	r.dispatch(t, "hello", r.crowd(t, n)...)
	r.plan(t)
	sender := &quick{times: map[string]int{}}
	for range stops {
		ctx, cancel := context.WithCancel(t.Context())
		tracer.interrupt.Store((*func())(&cancel))
		r.worker(t, push.Config{Store: store, Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: sender}}).Run(ctx)
		cancel()
		if got := value[int](t, r, sendingLines); got != 0 {
			t.Fatalf("got %d being sent after a stop, want none", got)
		}
	}
	if len(sender.times) == 0 {
		t.Error("got none sent: no stop came in the middle of work")
	}
	for id, times := range sender.times {
		if times != 1 {
			t.Errorf("%s: sent %d times, want once", id, times)
		}
	}
}

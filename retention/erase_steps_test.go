package retention_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/retention"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// breaker is a tracer that calls cut when the statement of a number begins, or is answered in a batch.
type breaker struct {
	left atomic.Int32
	cut  func()
}

func (b *breaker) count() {
	if b.left.Add(-1) == 0 {
		b.cut()
	}
}

func (b *breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	b.count()
	return ctx
}

func (b *breaker) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (b *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	b.count()
	return ctx
}

func (b *breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { b.count() }

func (b *breaker) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// traced returns a store whose connections have a name, and whose statements a breaker counts.
func (r *rig) traced(t testing.TB, b *breaker) *storage.Store {
	t.Helper()
	return storagetest.Open(t, storage.Config{URL: r.databaseURL + "&application_name=victim", Tracer: b})
}

// Wherever an erasure is cut off, by its caller or by Postgres, another janitor finishes it, and the log says so
// once.
func TestEraseUserIsFinished(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"by the caller": false, "by Postgres": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			steps := int32(1)
			for ; !r.cutOff(t, steps, kill); steps++ {
				j := r.janitor(retention.Config{ErasureIdle: time.Millisecond})
				stop := run(t, j)
				eventually(t, "the erasure is finished", func() bool {
					return value[int](t, r, `SELECT count(*) FROM erasures`) == 0
				})
				stop()
				if begun := steps > 2; begun {
					r.wantNoTrace(t, "ada")
				}
			}
			if steps < 20 {
				t.Errorf("got %d steps, want 20 or more", steps)
			}
			r.wantNoTrace(t, "ada")
		})
	}
}

// cutOff has ada erased until a step, and reports whether there was none of that number.
func (r *rig) cutOff(t *testing.T, step int32, kill bool) (isFinished bool) {
	t.Helper()
	r.exec(t, `DELETE FROM claims; DELETE FROM notifications; DELETE FROM items; DELETE FROM push_queue`)
	r.traces(t, "ada")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := &breaker{cut: cancel}
	if kill {
		b.cut = func() {
			r.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'victim'`)
		}
	}
	b.left.Store(step)
	store := r.traced(t, b)
	defer store.Close()
	return r.janitor(retention.Config{Store: store}).EraseUser(ctx, "ada") == nil
}

package push_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// What a question for receipts meets is nobody's final state. It is asked again on the next pass.
func TestT63ReceiptFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []exposim.Fault{
		exposim.BadRequest, exposim.Unauthorized, exposim.Forbidden, exposim.TooLarge, exposim.TooManyRequests,
		exposim.Reset, exposim.ServerError, exposim.BadGateway, exposim.Unavailable, exposim.GatewayTimeout, exposim.Cut,
		exposim.Slow, exposim.HTML, exposim.Errors, exposim.Garbage, exposim.Empty, exposim.Array,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.register(t, "a", "a1", "a2")
			r.sim.FailReceipts(fault, fault)
			client := r.expo(t, expo.Config{Timeout: time.Second})
			r.start(t, push.Config{Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: client}})
			r.dispatch(t, "hello", "a")
			r.settle(t)
			r.wantLines(t, both("hello", "delivered"))
			r.wantShown(t, "a1: hello", "a2: hello")
			if got, want := r.sim.Stats().ReceiptRequests, 3; got < want {
				t.Errorf("got %d questions, want %d at least", got, want)
			}
		})
	}
}

// What no receipt comes of stays sent, is asked for again, and is unknown in the end.
func TestT63ReceiptsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "x-noid", "x-lost")
	r.start(t, push.Config{}) // which gives up after 24 hours
	r.dispatch(t, "hello", "a")
	want := map[string]string{"a1: hello": "delivered", "x-noid: hello": "sent", "x-lost: hello": "sent"}
	eventually(t, "the one receipt is there", func() bool { return maps.Equal(want, r.lines(t)) })
	asked := r.sim.Stats().ReceiptRequests
	eventually(t, "the others are asked for again", func() bool { return r.sim.Stats().ReceiptRequests >= asked+2 })
	r.wantLines(t, want)
	r.exec(t, `UPDATE push_deliveries SET sent_at = sent_at - interval '23 hours 59 minutes'`)
	asked = r.sim.Stats().ReceiptRequests
	eventually(t, "they are asked for a minute before", func() bool { return r.sim.Stats().ReceiptRequests >= asked+2 })
	r.wantLines(t, want)
	r.exec(t, `UPDATE push_deliveries SET sent_at = sent_at - interval '1 minute'`)
	r.settle(t)
	want["x-noid: hello"], want["x-lost: hello"] = "unknown", "unknown"
	r.wantLines(t, want)
	r.wantShown(t, "a1: hello", "x-noid: hello")
}

// A receipt that takes its time is looked for on a fixed interval, by one of two workers each time.
func TestReceiptsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sim := exposim.New(exposim.Config{Limit: -1, ReceiptDelay: time.Hour})
	r.sim, r.server.Config.Handler = sim, sim
	r.register(t, "a", "a1")
	for range 2 {
		r.start(t, push.Config{ReceiptInterval: 200 * time.Millisecond})
	}
	began := time.Now()
	r.dispatch(t, "hello", "a")
	eventually(t, "it was asked for five times", func() bool { return sim.Stats().ReceiptRequests >= 5 })
	if took, least := time.Since(began), 4*200*time.Millisecond; took < least {
		t.Errorf("five questions took %s, want %s at least", took, least)
	}
	r.wantLines(t, map[string]string{"a1: hello": "sent"})
	sim.Advance(time.Hour)
	r.settle(t)
	r.wantLines(t, map[string]string{"a1: hello": "delivered"})
}

// The database goes away between a question and its answer. What was learnt is written down when it is back,
// not asked for again when the claim is over, which is a minute later.
func TestReceiptsWrittenDownLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	away := &awayAfterReceipts{Sender: r.expo(t, expo.Config{}), databaseURL: r.databaseURL, t: t}
	r.start(t, push.Config{Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: away}})
	r.dispatch(t, "hello", "a")
	eventually(t, "the receipts are there", func() bool { return r.sim.Stats().ReceiptRequests > 0 })
	asked := time.Now()
	eventually(t, "the table is away", func() bool {
		return value[bool](t, r, `SELECT to_regclass('away') IS NOT NULL`)
	})
	r.exec(t, `ALTER TABLE away RENAME TO push_deliveries`)
	r.settle(t)
	if took, most := time.Since(asked), 30*time.Second; took > most {
		t.Errorf("written down after %s, want %s at most", took, most)
	}
	r.wantLines(t, both("hello", "delivered"))
	if got, want := r.sim.Stats().ReceiptRequests, 1; got != want {
		t.Errorf("got %d questions, want %d", got, want)
	}
}

// awayAfterReceipts takes the ledger away once it has the first receipts.
type awayAfterReceipts struct {
	push.Sender

	databaseURL string
	t           *testing.T
	once        sync.Once
}

func (a *awayAfterReceipts) Receipts(ctx context.Context, tickets []string) (map[string]push.Receipt, error) {
	receipts, err := a.Sender.Receipts(ctx, tickets)
	a.once.Do(func() {
		conn, err := pgx.Connect(ctx, a.databaseURL)
		if err != nil {
			a.t.Error(err)
			return
		}
		_, err = conn.Exec(ctx, `ALTER TABLE push_deliveries RENAME TO away`)
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			a.t.Error(err)
		}
	})
	return receipts, err
}

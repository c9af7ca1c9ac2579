package live

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"
)

// Hints is a database that carries hints.
type Hints interface {
	// Notify sends hints to every process that listens.
	Notify(ctx context.Context, hints []string) error
	// Listen calls ready once it listens and heard for each hint, until ctx ends or the connection breaks.
	Listen(ctx context.Context, ready func(), heard func(hint string)) error
}

const (
	// notifyTimeout bounds the sending of a batch.
	notifyTimeout = 5 * time.Second
	// notifyInterval is the least time between two batches. A NOTIFY in each transaction would cost two
	// thirds of the commits; fifty a second cost none that could be measured.
	notifyInterval = 20 * time.Millisecond
)

// Postgres is the broker of processes that share a database: one connection that listens, and a batch of
// hints every 20 ms at most.
type Postgres struct {
	hints  Hints
	limit  int
	self   string
	outbox *Outbox
	logger *slog.Logger
}

// NewPostgres returns a broker over a database whose hints have at most limit bytes.
func NewPostgres(hints Hints, limit int, logger *slog.Logger) *Postgres {
	return &Postgres{hints: hints, limit: limit, self: rand.Text(), outbox: NewOutbox(notifyInterval), logger: logger}
}

// Publish implements Broker.
func (p *Postgres) Publish(userIDs []string) { p.outbox.Add(userIDs) }

// Run implements Broker.
func (p *Postgres) Run(ctx context.Context, heard func(userIDs []string), resync func()) {
	var sender sync.WaitGroup
	defer sender.Wait()
	sender.Go(func() { p.outbox.Run(ctx, p.send) })

	var backoff Backoff
	for {
		err := p.hints.Listen(ctx, func() {
			backoff = Backoff{}
			// What was sent while nobody here listened is lost, the time before the first listening included.
			resync()
		}, func(hint string) { Deliver(hint, p.self, heard, resync) })
		if ctx.Err() != nil {
			return
		}
		pause := backoff.Next()
		p.logger.Warn("not listening for other processes", "retry_in", pause.String(), "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (p *Postgres) send(ctx context.Context, userIDs []string) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	return p.hints.Notify(ctx, Payloads(p.self, userIDs, p.limit))
}

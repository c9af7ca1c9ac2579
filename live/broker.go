package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Broker carries hints between processes. A hint holds user ids and nothing else.
type Broker interface {
	// Publish tells the other processes that something of these users has changed. It does not block, and
	// it may lose hints; then the others' Run calls resync once it can.
	Publish(userIDs []string)
	// Run calls heard with the hints of other processes until ctx ends, and resync after a time in which
	// some may have been lost. It reconnects by itself.
	Run(ctx context.Context, heard func(userIDs []string), resync func())
}

// Local is the broker of a process that is alone.
type Local struct{}

// Publish does nothing: there is nobody else.
func (Local) Publish([]string) {}

// Run waits for the end of ctx.
func (Local) Run(ctx context.Context, _ func([]string), _ func()) { <-ctx.Done() }

// Everyone stands for all users in a hint: too many have changed to name them.
const Everyone = "*"

// maxNamed is how many users one batch of hints names; with more it says Everyone.
const maxNamed = 4000

// Outbox gathers hints and sends them in batches: one message for each hint would cost a database that
// carries them two thirds of its commits. It is safe for concurrent use.
type Outbox struct {
	interval time.Duration
	wake     chan struct{}

	mu      sync.Mutex
	pending map[string]struct{} // guarded by mu
}

// NewOutbox returns an empty Outbox that leaves at least interval between two batches.
func NewOutbox(interval time.Duration) *Outbox {
	return &Outbox{interval: interval, wake: make(chan struct{}, 1), pending: map[string]struct{}{}}
}

// Add takes hints to be sent with the next batch.
func (o *Outbox) Add(userIDs []string) {
	o.mu.Lock()
	for _, id := range userIDs {
		if len(o.pending) > maxNamed {
			o.pending = map[string]struct{}{Everyone: {}}
		}
		if _, everyone := o.pending[Everyone]; everyone {
			break
		}
		o.pending[id] = struct{}{}
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run calls send with batches of hints until ctx ends. A batch that send could not
// send is tried again with the next one, after a pause that grows to 5 s.
func (o *Outbox) Run(ctx context.Context, send func(ctx context.Context, userIDs []string) error) {
	timer := time.NewTimer(o.interval)
	defer timer.Stop()
	var backoff Backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		pause := o.interval
		if batch := o.take(); len(batch) > 0 {
			if err := send(ctx, batch); err != nil {
				o.Add(batch)
				pause = backoff.Next()
			} else {
				backoff = Backoff{}
			}
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// take empties the outbox.
func (o *Outbox) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := make([]string, 0, len(o.pending))
	for id := range o.pending {
		batch = append(batch, id)
	}
	clear(o.pending)
	slices.Sort(batch)
	return batch
}

// Payloads writes a batch as messages of at most so many bytes, each with the sender's name on the first
// line and a user's id on each further one: ids have no control characters.
func Payloads(sender string, userIDs []string, limit int) []string {
	var payloads []string
	var b strings.Builder
	for _, id := range userIDs {
		if b.Len() > 0 && b.Len()+1+len(id) > limit {
			payloads = append(payloads, b.String())
			b.Reset()
		}
		if b.Len() == 0 {
			b.WriteString(sender)
		}
		b.WriteByte('\n')
		b.WriteString(id)
	}
	if b.Len() > 0 {
		payloads = append(payloads, b.String())
	}
	return payloads
}

// Deliver reads a message that Payloads wrote and hands its hints to heard or resync. It drops those that
// came from this process itself, which has heard already.
func Deliver(payload, self string, heard func([]string), resync func()) {
	lines := strings.Split(payload, "\n")
	switch ids := lines[1:]; {
	case lines[0] == self || len(ids) == 0:
	case slices.Contains(ids, Everyone):
		resync()
	default:
		heard(ids)
	}
}

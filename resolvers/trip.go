package resolvers

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"belfry/storage"
)

const (
	// tripTimeout bounds a trip, which does not end with the field that happened to come last.
	tripTimeout = 10 * time.Second
	// tripWait is how long a trip waits for questions that never come, since gqlgen refused a field's
	// arguments. It is not what a request waits: a trip knows how many questions there will be and leaves with
	// the last of them. A shorter wait would split trips on a busy machine.
	tripWait = time.Second
)

// trip gathers questions and asks them all by one storage.Batch, once as many have come as there will be.
// What comes later, which only happens after a wait in vain, makes another one.
type trip struct {
	key   tripKey
	store *storage.Store
	size  int

	// isBegun is set by the first who comes.
	isBegun atomic.Bool

	mu   sync.Mutex
	next *departure // of the questions that have come so far; guarded by mu
	gone []*departure
}

// question is one read of one user.
type question struct {
	name   any
	userID string
}

// queue adds the statements of a read to a batch.
type queue func(b *storage.Batch, userIDs []string) answers

// answers are those of one read; complete is nil where nothing is left to ask for.
type answers struct {
	of       func(userID string) any
	complete func(context.Context) error
}

// departure is one batch. Once done is closed its answers are there.
type departure struct {
	done  chan struct{}
	timer *time.Timer
	// count is how many different questions have come, refused ones too.
	count   int
	reads   []*legs
	refused []question
}

// legs is one read of the users who have asked for it.
type legs struct {
	name    any
	queue   queue
	userIDs []string
	answers answers
	err     error
}

// legs returns the read of that name, or nil. There are few: a look at each takes less than a map.
func (d *departure) legs(name any) *legs {
	for _, l := range d.reads {
		if l.name == name {
			return l
		}
	}
	return nil
}

// holds reports whether a question has come before.
func (d *departure) holds(q question) bool {
	l := d.legs(q.name)
	return l != nil && slices.Contains(l.userIDs, q.userID)
}

// errPanicked is what others hear of a read that has panicked.
var errPanicked = errors.New("read: panicked")

// join asks a question and returns the answers that came with its own. A question that was asked before is
// not asked again.
func (t *trip) join(ctx context.Context, q question, add queue) (answers, error) {
	if t.size > 1 && t.isBegun.CompareAndSwap(false, true) {
		// The first to come is as a rule the request's own goroutine, whose stack has grown already to what a trip
		// takes. It lets the other fields' go ahead, so as to be the last and make the trip.
		runtime.Gosched()
	}
	d, isLast := t.enter(ctx, q, add)
	if isLast {
		d.run(ctx, t.store)
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		return answers{}, ctx.Err()
	}
	l := d.legs(q.name)
	return l.answers, l.err
}

// leave says that a question which others wait for will not come.
func (t *trip) leave(ctx context.Context, q question) {
	if d, isLast := t.enter(ctx, q, nil); isLast {
		d.run(ctx, t.store)
	}
}

// enter notes a question, and reports whether it was the last one: then the caller runs the departure.
func (t *trip) enter(ctx context.Context, q question, add queue) (d *departure, isLast bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range t.gone {
		if d.holds(q) {
			return d, false
		}
	}
	d = t.next
	if d == nil {
		d = &departure{done: make(chan struct{})}
		t.next = d
	}
	d.note(q, add)
	if d.count >= t.size {
		t.depart()
		return d, true
	}
	if d.timer == nil {
		d.timer = time.AfterFunc(tripWait, func() { t.giveUp(ctx, d) })
	}
	return d, false
}

func (d *departure) note(q question, add queue) {
	switch {
	case d.holds(q) || add == nil && slices.Contains(d.refused, q):
		return
	case add == nil:
		d.refused = append(d.refused, q)
	default:
		l := d.legs(q.name)
		if l == nil {
			l = &legs{name: q.name, queue: add, err: errPanicked}
			d.reads = append(d.reads, l)
		}
		l.userIDs = append(l.userIDs, q.userID)
	}
	d.count++
}

// depart makes the next question begin another departure. Hold the lock.
func (t *trip) depart() {
	if t.next.timer != nil {
		t.next.timer.Stop()
	}
	t.gone, t.next = append(t.gone, t.next), nil
}

// giveUp runs a departure with the questions that have come.
func (t *trip) giveUp(ctx context.Context, d *departure) {
	t.mu.Lock()
	isWaiting := t.next == d
	if isWaiting {
		t.depart()
	}
	t.mu.Unlock()
	if !isWaiting {
		return
	}
	defer func() { _ = recover() }() // on a goroutine of its own: the fields answer with errPanicked
	d.run(ctx, t.store)
}

// run asks. It does so under a deadline of its own: the context it is given is one field's, whose end is not
// the others'.
func (d *departure) run(ctx context.Context, store *storage.Store) {
	defer close(d.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tripTimeout)
	defer cancel()
	var b storage.Batch
	for _, l := range d.reads {
		l.answers = l.queue(&b, l.userIDs)
	}
	err := store.Send(ctx, &b)
	for _, l := range d.reads {
		if l.err = err; err == nil && l.answers.complete != nil {
			l.err = l.answers.complete(ctx)
		}
	}
}

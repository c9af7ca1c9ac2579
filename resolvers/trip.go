package resolvers

import (
	"context"
	"errors"
	"runtime"
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
	asked map[question]bool // false where it was refused
	names []any             // in the order of their coming
	reads map[any]*legs
}

// legs is one read of the users who have asked for it.
type legs struct {
	queue   queue
	userIDs []string
	answers answers
	err     error
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
	l := d.reads[q.name]
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
		if d.asked[q] {
			return d, false
		}
	}
	d = t.next
	if d == nil {
		d = &departure{done: make(chan struct{}), asked: make(map[question]bool, t.size), reads: map[any]*legs{}}
		t.next = d
	}
	if _, ok := d.asked[q]; !ok {
		d.note(q, add)
	}
	if len(d.asked) >= t.size {
		t.depart()
		return d, true
	}
	if d.timer == nil {
		d.timer = time.AfterFunc(tripWait, func() { t.giveUp(ctx, d) })
	}
	return d, false
}

func (d *departure) note(q question, add queue) {
	d.asked[q] = add != nil
	if add == nil {
		return
	}
	l := d.reads[q.name]
	if l == nil {
		l = &legs{queue: add, err: errPanicked}
		d.reads[q.name], d.names = l, append(d.names, q.name)
	}
	l.userIDs = append(l.userIDs, q.userID)
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
	for _, name := range d.names {
		l := d.reads[name]
		l.answers = l.queue(&b, l.userIDs)
	}
	err := store.Send(ctx, &b)
	for _, name := range d.names {
		l := d.reads[name]
		if l.err = err; err == nil && l.answers.complete != nil {
			l.err = l.answers.complete(ctx)
		}
	}
}

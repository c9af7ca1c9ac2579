package inbox

import (
	"context"
	"sync/atomic"
)

// Waker lets a transport follow a stream without a goroutine that waits for each of its values: the source
// says when there are some. A goroutine for each of ten thousand idle subscriptions is most of what they
// cost.
type Waker struct {
	wake    func()
	waiting atomic.Pointer[func() int]
}

type wakerKey struct{}

// WithWaker returns a context that carries a waker, whose source is to call wake.
func WithWaker(ctx context.Context, wake func()) (context.Context, *Waker) {
	w := &Waker{wake: wake}
	return context.WithValue(ctx, wakerKey{}, w), w
}

// FollowedBy tells the context's waker, if it has one, that this source will wake it, and how many values
// wait in the source. It returns what to call, without a lock that waiting takes, after each value that was
// put there, and which does nothing where there is no waker.
func FollowedBy(ctx context.Context, waiting func() int) (wake func()) {
	w, ok := ctx.Value(wakerKey{}).(*Waker)
	if !ok {
		return func() {}
	}
	w.waiting.Store(&waiting)
	return w.wake
}

// Waiting returns how many values wait in the source, and false where no source has promised to wake.
func (w *Waker) Waiting() (int, bool) {
	waiting := w.waiting.Load()
	if waiting == nil {
		return 0, false
	}
	return (*waiting)(), true
}

package sse

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
)

// stream answers with events until the operation is over, the client has gone or reads too slowly, the
// token has expired, or the server stops.
//
// This goroutine alone writes. Another one, which ends before this returns, computes the results, because
// asking gqlgen for the next one blocks. It holds one result at a time and asks for the next when that is
// written: what changes meanwhile is merged by who sends it.
func (t *Transport) stream(
	w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, op *graphql.OperationContext,
) {
	ctx, cancel := context.WithCancel(r.Context())
	results := &producer{frames: make(chan []byte)}
	go results.run(ctx, exec, op)
	defer func() {
		cancel()
		for range results.frames { // until it is closed
		}
	}()

	// A query or a mutation ends by itself, and is best left to.
	var expired <-chan time.Time
	var draining <-chan struct{}
	if isSubscription(op) {
		var stop func()
		expired, stop = expiry(ctx)
		defer stop()
		draining = t.draining
	}
	out := t.newWriter(w)
	ticker := time.NewTicker(t.cfg.KeepAlive)
	defer ticker.Stop()
	// What ends a stream for good ends with complete, so that nobody asks again for the same.
	finish := func(why error) {
		var last []byte
		if why != nil {
			last = next(exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(why)}))
		}
		_ = out.write(append(last, complete...))
	}
	err := out.open()
	for err == nil {
		select {
		case frame, ok := <-results.frames:
			if !ok && ctx.Err() == nil {
				finish(results.failure)
			}
			if !ok {
				return
			}
			err = out.write(frame)
			ticker.Reset(t.cfg.KeepAlive)
		case <-ticker.C:
			err = out.write(keepAlive)
		case <-expired:
			finish(inbox.Errorf(inbox.Unauthenticated, "the token has expired"))
			return
		case <-draining:
			return
		case <-ctx.Done():
			return
		}
	}
}

// producer computes the results of an operation.
type producer struct {
	frames  chan []byte // closed when there are no more
	failure error       // a panic that ended them; set before frames is closed
}

func (p *producer) run(ctx context.Context, exec graphql.GraphExecutor, op *graphql.OperationContext) {
	defer close(p.frames)
	// Who recovers panics for net/http does not see this goroutine: one would end the process.
	defer func() {
		if cause := recover(); cause != nil {
			p.failure = op.RecoverFunc(ctx, cause)
		}
	}()
	responses, ctx := exec.DispatchOperation(ctx, op)
	for response := responses(ctx); response != nil; response = responses(ctx) {
		select {
		case p.frames <- next(response):
		case <-ctx.Done():
			return
		}
	}
}

// writer writes frames to a client.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (t *Transport) newWriter(w http.ResponseWriter) *writer {
	return &writer{w: w, control: http.NewResponseController(w), timeout: t.cfg.WriteTimeout}
}

// open sends the headers, so that the client knows at once that it is connected.
func (w *writer) open() error {
	header := w.w.Header()
	header.Set("Content-Type", mediaType)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // nginx would collect events before it passes them on
	return w.write(keepAlive)
}

// write sends a frame. Its deadline stands until the next one, and net/http lifts it after the answer, as
// it did the server's deadline for reading when the request had been read.
func (w *writer) write(frame []byte) error {
	err := w.control.SetWriteDeadline(time.Now().Add(w.timeout))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := w.w.Write(frame); err != nil { //nolint:gosec // G705 takes JSON in an event stream for HTML
		return err
	}
	return w.control.Flush()
}

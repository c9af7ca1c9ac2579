package websocket

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
)

// follower writes the events of a stream that says when it has some. Between events it costs no goroutine.
type follower struct {
	socket    *socket
	operation *operation
	waker     *inbox.Waker
	// ctx and responses are set by begin, before the first step.
	ctx       context.Context
	responses graphql.ResponseHandler

	mu        sync.Mutex
	hasBegun  bool // guarded by mu
	isRunning bool // guarded by mu: a step is under way
	isAgain   bool // guarded by mu: there was another event since it looked
}

// begin lets events through, those too that came before.
func (f *follower) begin(ctx context.Context, responses graphql.ResponseHandler) {
	f.ctx, f.responses = ctx, responses
	f.mu.Lock()
	f.hasBegun, f.isRunning = true, true
	f.mu.Unlock()
	f.run()
}

// wake is called by the stream when it has put an event. It does not block.
func (f *follower) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.hasBegun:
	case f.isRunning:
		f.isAgain = true
	default:
		f.isRunning = true
		go f.run()
	}
}

// run writes what waits, and ends when nothing does. The next response is asked for only when the one
// before has been written, so that a slow client finds the newest.
func (f *follower) run() {
	defer f.socket.recovered(f.ctx, f.operation)
	for {
		if waiting, _ := f.waker.Waiting(); waiting > 0 {
			if !f.step() {
				f.operation.cancel()
				return
			}
			continue
		}
		f.mu.Lock()
		if !f.isAgain {
			f.isRunning = false
			f.mu.Unlock()
			return
		}
		f.isAgain = false
		f.mu.Unlock()
	}
}

// step writes one event and reports whether there can be more.
func (f *follower) step() bool {
	response := f.responses(f.ctx)
	if response == nil || f.ctx.Err() != nil {
		f.socket.finish(f.operation)
		return false
	}
	if f.socket.write(f.ctx, nextMessage(f.operation.id, response)) != nil {
		f.socket.finish(f.operation)
		return false
	}
	return true
}

package websocket

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
	gqlhttp "belfry/transport/http"
)

// operation is one query, mutation or subscription under way.
type operation struct {
	id     string
	cancel context.CancelFunc
}

// setExpiry closes the socket when the token expires.
func (s *socket) setExpiry() {
	if s.callerErr != nil || s.caller.ExpiresAt.IsZero() {
		s.stopTimer()
		return
	}
	s.setTimer(time.Until(s.caller.ExpiresAt), codeForbidden, "Forbidden: the token has expired")
}

// subscribe starts an operation of any kind.
func (s *socket) subscribe(ctx context.Context, m message) {
	if !s.isAcked {
		s.close(codeUnauthorized, "Unauthorized")
		return
	}
	params, ok := readRequest(m.Payload)
	if m.ID == nil || *m.ID == "" || !ok {
		s.close(codeBadRequest, "Invalid message received")
		return
	}
	operationCtx, cancel := context.WithCancel(inbox.WithCaller(ctx, s.caller, s.callerErr))
	o := &operation{id: *m.ID, cancel: cancel}
	s.mu.Lock()
	_, isDuplicate := s.operations[o.id]
	isFull := len(s.operations) >= maxOperations
	if !isDuplicate && !isFull && !s.isClosing {
		s.operations[o.id] = o
		s.mu.Unlock()
		go s.perform(operationCtx, o, params)
		return
	}
	s.mu.Unlock()
	cancel()
	switch {
	case isDuplicate:
		s.close(codeDuplicate, fmt.Sprintf("Subscriber for %.80s already exists", o.id))
	case isFull:
		err := inbox.Errorf(inbox.RateLimited, "a socket has at most %d operations at once", maxOperations)
		_ = s.write(ctx, errorMessage(o.id, gqlerror.List{{
			Message: err.Message, Extensions: map[string]any{"code": err.Code, "retryAfterMs": 0},
		}}))
	}
}

// complete ends an operation for the client, which wants to hear no more of it. The id may be used again
// at once.
func (s *socket) complete(m message) {
	if m.ID == nil || *m.ID == "" {
		s.close(codeBadRequest, "Invalid message received")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.operations[*m.ID]; o != nil {
		o.cancel()
		delete(s.operations, o.id)
	}
}

// finish takes an operation off those under way. It reports false where the client has done so: then
// nothing more may be said of it.
func (s *socket) finish(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[o.id] != o {
		return false
	}
	delete(s.operations, o.id)
	return !s.isClosing
}

// perform runs an operation, to its end or until its stream takes over. A panic ends the operation, not the
// socket.
func (s *socket) perform(ctx context.Context, o *operation, params *graphql.RawParams) {
	isFollowed := false
	defer func() {
		if !isFollowed {
			o.cancel()
		}
	}()
	defer s.recovered(ctx, o)
	f := &follower{socket: s, operation: o}
	ctx, f.waker = inbox.WithWaker(graphql.StartOperationTrace(ctx), f.wake)
	operationContext, errs := gqlhttp.Prepare(ctx, s.exec, params)
	if len(errs) > 0 {
		response := s.exec.DispatchError(graphql.WithOperationContext(ctx, operationContext), errs)
		if s.finish(o) {
			_ = s.write(ctx, errorMessage(o.id, response.Errors))
		}
		return
	}
	responses, ctx := s.exec.DispatchOperation(ctx, operationContext)
	if _, ok := f.waker.Waiting(); ok {
		isFollowed = true
		f.begin(ctx, responses)
		return
	}
	s.drain(ctx, o, responses, operationContext.Operation.Operation == ast.Subscription)
}

// recovered is deferred by whatever runs an operation.
func (s *socket) recovered(ctx context.Context, o *operation) {
	cause := recover()
	if cause == nil {
		return
	}
	s.transport.cfg.Logger.Error("panic in an operation", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
	if s.finish(o) {
		_ = s.write(ctx, errorMessage(o.id, gqlerror.List{{
			Message: "internal error", Extensions: map[string]any{"code": inbox.Internal},
		}}))
	}
	o.cancel()
}

// drain writes responses until there are no more: the one of a query or a mutation, or all of a stream that
// does not say when it has some.
func (s *socket) drain(ctx context.Context, o *operation, responses graphql.ResponseHandler, isStream bool) {
	for first := true; ; first = false {
		response := responses(ctx)
		if response == nil {
			break
		}
		// A subscription that could not begin is an error, and nothing follows it.
		if isStream && first && len(response.Data) == 0 && len(response.Errors) > 0 {
			if s.finish(o) {
				_ = s.write(ctx, errorMessage(o.id, response.Errors))
			}
			return
		}
		// The message is a copy: the next response is written over this one.
		if ctx.Err() != nil || s.write(ctx, nextMessage(o.id, response)) != nil || !isStream {
			break
		}
	}
	if s.finish(o) && ctx.Err() == nil {
		_ = s.write(ctx, idMessage("complete", o.id))
	}
}

// idMessage returns a message without a payload.
func idMessage(kind, id string) []byte {
	return append(messageHead(kind, id), '}')
}

func messageHead(kind, id string) []byte {
	quoted, _ := json.Marshal(id) // a string always encodes
	b := make([]byte, 0, len(kind)+len(quoted)+256)
	b = append(b, `{"id":`...)
	b = append(b, quoted...)
	b = append(b, `,"type":"`...)
	b = append(b, kind...)
	return append(b, '"')
}

// nextMessage returns a result. What is JSON already is not encoded again.
func nextMessage(id string, r *graphql.Response) []byte {
	b := append(messageHead("next", id), `,"payload":{`...)
	if len(r.Errors) > 0 {
		b = append(b, `"errors":`...)
		b = append(b, encoded(r.Errors)...)
		b = append(b, ',')
	}
	b = append(b, `"data":`...)
	if len(r.Data) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(b, r.Data...)
	}
	if len(r.Extensions) > 0 {
		b = append(b, `,"extensions":`...)
		b = append(b, encoded(r.Extensions)...)
	}
	return append(b, "}}"...)
}

func errorMessage(id string, errs gqlerror.List) []byte {
	b := append(messageHead("error", id), `,"payload":`...)
	return append(append(b, encoded(errs)...), '}')
}

// encoded returns JSON of what is made of nothing but strings, numbers, maps and lists.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

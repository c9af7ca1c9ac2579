// Package sse answers GraphQL requests with a stream of server-sent events, in the "distinct connections
// mode" of graphql-sse: https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md. Requests are
// those of transport/http, by POST or GET; its single connection mode is not there, since HTTP/2 does
// without, and over HTTP/1.1 a WebSocket does better.
//
// A request is answered with a stream where it wants one more than JSON, or where it asks for a
// subscription and takes a stream at all: urql says with each query that it would take one.
//
// A browser's own EventSource can't send a token: it sets no headers. There is no access_token parameter
// for it, as URLs end up in the logs of proxies and in histories (RFC 6750, section 5.3). It works where a
// proxy on the page's own origin makes the Authorization header of a session cookie; everybody else has
// graphql-sse, or one of the EventSources that are built on fetch.
package sse

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
	gqlhttp "belfry/transport/http"
)

const mediaType = "text/event-stream"

// Config says how streams are served. The zero values stand for the defaults.
type Config struct {
	// KeepAlive is how long a stream may be silent before it says that it is still there: less than the
	// idle timeout of any proxy. Default 12 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to make room for one more event. Default 10 s.
	WriteTimeout time.Duration
}

// Transport is a graphql.Transport for streams. It takes requests that accept one and answers those with
// JSON that are better off with it.
type Transport struct {
	cfg      Config
	draining chan struct{} // closed by drain
	drain    func()
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a transport.
func New(cfg Config) *Transport {
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = 12 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	t := &Transport{cfg: cfg, draining: make(chan struct{})}
	t.drain = sync.OnceFunc(func() { close(t.draining) })
	return t
}

// Drain ends all subscriptions, those that begin later among them, so that the server can stop: its
// Shutdown waits for them. Queries and mutations finish.
//
// The streams end without the event complete. To graphql-sse that is a broken connection, and it connects
// anew after a second or more; after complete it would tell the application that nothing more will come.
// An EventSource connects anew in either case, unless the page has closed it on complete.
func (t *Transport) Drain() { t.drain() }

// Supports implements graphql.Transport.
func (t *Transport) Supports(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return false
	}
	quality, isNamed := gqlhttp.ParseAccept(r.Header).Quality(mediaType)
	return isNamed && quality > 0
}

// prefersStream reports whether a client wants a stream more than JSON.
func prefersStream(header http.Header) bool {
	accept := gqlhttp.ParseAccept(header)
	stream, _ := accept.Quality(mediaType)
	newer, _ := accept.Quality(gqlhttp.ResponseJSON)
	older, _ := accept.Quality(gqlhttp.JSON)
	return stream > max(newer, older)
}

// Do implements graphql.Transport.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	op, err := gqlhttp.Read(r, exec)
	errs, isInvalid := errors.AsType[gqlerror.List](err)
	switch {
	case err == nil && (isSubscription(op) || prefersStream(r.Header)):
		t.stream(w, r, exec, op)
	case err == nil:
		gqlhttp.Execute(w, r, exec, op)
	case isInvalid && prefersStream(r.Header):
		// By the protocol: an EventSource can't see the body of an answer that is no stream.
		out := t.newWriter(w)
		if out.open() == nil {
			_ = out.write(append(next(exec.DispatchError(r.Context(), errs)), complete...))
		}
	default:
		gqlhttp.Reject(w, r, exec, err)
	}
}

func isSubscription(op *graphql.OperationContext) bool {
	return op.Operation.Operation == ast.Subscription
}

// expiry returns a channel that says when the caller's token expires, and what frees it.
func expiry(ctx context.Context) (expired <-chan time.Time, stop func()) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil || caller.ExpiresAt.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(caller.ExpiresAt))
	return timer.C, func() { timer.Stop() }
}

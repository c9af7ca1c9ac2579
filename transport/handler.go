// Package transport puts the GraphQL engine on the network: which requests are taken, how large they may
// be, what they may cost, how long they may take, and how their errors look.
//
// A request with {"cost": true} in its extensions finds what its operation costs in the response's
// extensions.cost: see Cost, and doc/decisions/0007-cost.md.
package transport

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"belfry/inbox"
	gqlhttp "belfry/transport/http"
	"belfry/transport/sse"
	"belfry/transport/websocket"
)

// Limits of a request.
const (
	// maxTokens bounds a document: validation can cost the square of it. Introspection takes fewer than 200.
	maxTokens = 2000
	// operationTimeout bounds the work on one operation.
	operationTimeout = 30 * time.Second
	// cachedDocuments is how many parsed documents are kept. Clients that use variables need few.
	cachedDocuments = 1000
)

// Config says how the API is served.
type Config struct {
	Logger *slog.Logger
	// Introspection lets clients read the schema.
	Introspection bool
	// Authenticate turns the token of a socket into a caller. Its errors are *inbox.Error.
	Authenticate func(ctx context.Context, token string) (inbox.Caller, error)
	// Origins are the hosts, besides the server's own, whose pages may open sockets; patterns of path.Match.
	Origins []string
	// PrepareResponse returns the context in which one response is computed.
	PrepareResponse func(context.Context) context.Context
	// AroundFields stands around the resolvers: graph.Render, which renders what it can at once. Nil has
	// every field rendered by itself, with the same answers.
	AroundFields graphql.FieldMiddleware
}

// API is the handler of /graphql.
type API struct {
	http.Handler
	sockets *websocket.Transport
	streams *sse.Transport
}

// New returns the API. It expects the caller in the request's context. Its sockets end with ctx at the
// latest; call Drain first to end them in good order.
func New(ctx context.Context, schema graphql.ExecutableSchema, cfg Config) *API {
	srv := handler.New(schema)
	sockets := websocket.New(ctx, websocket.Config{
		Authenticate: cfg.Authenticate, Origins: cfg.Origins, Logger: cfg.Logger,
	})
	srv.AddTransport(sockets)
	streams := sse.New(sse.Config{})
	srv.AddTransport(streams)
	srv.AddTransport(gqlhttp.Transport{}) // takes what is left
	documents := lru.New[*ast.QueryDocument](cachedDocuments)
	srv.SetQueryCache(documents)
	srv.SetParserTokenLimit(maxTokens)
	srv.Use(documentLimit{schema.Schema(), documents})
	if cfg.Introspection {
		srv.Use(extension.Introspection{})
	}
	srv.SetDisableSuggestion(!cfg.Introspection) // which would tell the schema a guess at a time
	srv.Use(costLimit{newScale()})               // after what it looks at: introspection
	p := presenter{cfg.Logger}
	srv.SetErrorPresenter(p.present)
	srv.SetRecoverFunc(p.recovered)
	if cfg.AroundFields != nil {
		srv.AroundFields(cfg.AroundFields)
	}
	srv.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		// A subscription's response is one event, for which it may wait for days.
		if !isSubscription(ctx) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, operationTimeout)
			defer cancel()
		}
		return next(cfg.PrepareResponse(ctx))
	})
	return &API{Handler: limitBody(srv), sockets: sockets, streams: streams}
}

// isSubscription reports whether the operation in the context is one. A request that was refused before it
// had an operation is none.
func isSubscription(ctx context.Context) bool {
	if !graphql.HasOperationContext(ctx) {
		return false
	}
	op := graphql.GetOperationContext(ctx).Operation
	return op != nil && op.Operation == ast.Subscription
}

// Drain ends all streams so that their clients come back to another server, and refuses new ones. It
// returns when all sockets have ended, or with the error of ctx; event streams are requests, for which the
// server's Shutdown waits.
func (a *API) Drain(ctx context.Context) error {
	a.streams.Drain()
	return a.sockets.Drain(ctx)
}

// Package transport puts the GraphQL engine on the network: which requests are taken, how large they may
// be, how long they may take, and how their errors look.
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
	gqltransport "github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"
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
	// PrepareResponse returns the context in which one response is computed.
	PrepareResponse func(context.Context) context.Context
}

// New returns the handler of /graphql. It expects the caller in the request's context.
func New(schema graphql.ExecutableSchema, cfg Config) http.Handler {
	srv := handler.New(schema)
	srv.AddTransport(gqltransport.Options{AllowedMethods: []string{http.MethodOptions, http.MethodGet, http.MethodPost}})
	srv.AddTransport(gqltransport.GET{})
	srv.AddTransport(gqltransport.POST{})
	srv.SetQueryCache(lru.New[*ast.QueryDocument](cachedDocuments))
	srv.SetParserTokenLimit(maxTokens)
	if cfg.Introspection {
		srv.Use(extension.Introspection{})
	}
	p := presenter{cfg.Logger}
	srv.SetErrorPresenter(p.present)
	srv.SetRecoverFunc(p.recovered)
	srv.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		ctx, cancel := context.WithTimeout(ctx, operationTimeout)
		defer cancel()
		return next(cfg.PrepareResponse(ctx))
	})
	return limitBody(srv)
}

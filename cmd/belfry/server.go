package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"belfry/auth"
	"belfry/graph"
	"belfry/live"
	"belfry/resolvers"
	"belfry/storage"
	"belfry/transport"
)

// Timeouts of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	readyTimeout      = time.Second
)

// server is the HTTP side of a running Belfry.
type server struct {
	parts
	http       *http.Server
	api        *transport.API
	isDraining atomic.Bool
}

// parts is what a server is made of.
type parts struct {
	store         *storage.Store
	hub           *live.Hub
	wakePush      func()
	eraseUser     func(ctx context.Context, userID string) error
	verifier      *auth.Verifier
	logger        *slog.Logger
	introspection bool
	// generated has gqlgen's generated code render all answers.
	generated   bool
	origins     []string
	activityTTL time.Duration
	browser     pages
	// requestLevel is the level of the line that each request leaves in the log.
	requestLevel slog.Level
	// drainDelay is how long the server goes on, not ready, after a stop has begun.
	drainDelay time.Duration
}

// newServer wires the API together: the one place where its parts meet.
func newServer(ctx context.Context, p parts) *server {
	s := &server{parts: p}
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: resolvers.New(resolvers.Config{
		Store: p.store, Hub: p.hub, WakePush: p.wakePush, EraseUser: p.eraseUser, ActivityTTL: p.activityTTL,
	})})
	var render graphql.FieldMiddleware = graph.Render
	if p.generated {
		render = nil
	}
	s.api = transport.New(ctx, schema, transport.Config{
		Logger: p.logger, Introspection: p.introspection, Authenticate: p.verifier.Verify, Origins: p.origins,
		PrepareResponse: resolvers.WithLoaders, AroundFields: render,
	})
	mux := http.NewServeMux()
	mux.Handle("/graphql", withCORS(p.verifier.Middleware(s.api), p.origins))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	for pattern, page := range p.browser {
		mux.Handle(pattern, page)
	}
	s.http = &http.Server{
		Handler:           logRequests(mux, p.logger, p.requestLevel),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn),
	}
	return s
}

// ready answers 200 where a request can be served: the database answers and no stop has begun.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	switch {
	case s.isDraining.Load():
		http.Error(w, "stopping", http.StatusServiceUnavailable)
	case s.store.Ping(ctx) != nil:
		http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
	default:
		_, _ = fmt.Fprintln(w, "ok")
	}
}

// run serves until ctx ends, then lets the requests in flight finish, for stopTimeout at most. Once it
// serves it calls whenServing, whose error ends it.
func (s *server) run(
	ctx context.Context, listener net.Listener, stopTimeout time.Duration, whenServing func(context.Context) error,
) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(listener) }()
	s.logger.Info("serving", "address", listener.Addr().String())
	// An error of a start that a signal has cut short is no failure.
	if err := whenServing(ctx); err != nil && ctx.Err() == nil {
		return errors.Join(err, s.http.Close())
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.logger.Info("stopping")
	s.isDraining.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	select {
	case <-time.After(s.drainDelay):
	case <-ctx.Done():
	}
	// The streams first: they would hold up the rest until the deadline.
	if err := s.api.Drain(ctx); err != nil {
		s.logger.Warn("streams cut off", "error", err.Error())
	}
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = s.http.Close()
		return fmt.Errorf("stop: requests were still in flight after %s", stopTimeout)
	}
	s.logger.Info("stopped")
	return err
}

// logRequests writes a line for each request, without its query, headers or body: those may hold what
// nobody but the caller should read.
func logRequests(next http.Handler, logger *slog.Logger, level slog.Level) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		rec := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		logger.LogAttrs(r.Context(), level, "request", slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Int("status", rec.status), slog.Float64("duration_ms", float64(time.Since(started).Microseconds())/1000))
	})
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

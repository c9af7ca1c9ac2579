package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"belfry/graph"
	"belfry/inbox"
	"belfry/resolvers"
	"belfry/storage"
	"belfry/transport"
)

// statement is what Belfry has sent to Postgres. The floor and pgbench send the same: they are told by
// watching Belfry, so that they can't fall behind.
type statement struct {
	name, sql string
	args      []any
}

// watcher is a tracer that keeps the statements it sees.
type watcher struct {
	mu         sync.Mutex
	statements []statement // guarded by mu
}

var statementName = regexp.MustCompile(`^-- name: (\S+)\n`)

// see passes over what pgx sends by itself, which has no name.
func (w *watcher) see(sql string, args []any) {
	match := statementName.FindStringSubmatch(sql)
	if match == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statements = append(w.statements, statement{match[1], sql, args})
}

// TraceQueryStart implements pgx.QueryTracer.
func (w *watcher) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	w.see(data.SQL, data.Args)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (w *watcher) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (w *watcher) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (w *watcher) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	w.see(data.SQL, data.Args)
}

// TraceBatchEnd implements pgx.BatchTracer.
func (w *watcher) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// watch returns the statements that a store sends while do uses it.
func watch(ctx context.Context, databaseURL string, do func(*storage.Store) error) ([]statement, error) {
	w := &watcher{}
	store, err := storage.Open(ctx, storage.Config{URL: databaseURL, Logger: slog.New(slog.DiscardHandler), Tracer: w})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	err = do(store)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.statements, err
}

// newAPI returns Belfry's API in this process, for queries of a caller.
func newAPI(ctx context.Context, store *storage.Store, caller inbox.Caller) http.Handler {
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: resolvers.New(resolvers.Config{Store: store})})
	api := transport.New(ctx, schema, transport.Config{
		Logger: slog.New(slog.DiscardHandler), PrepareResponse: resolvers.WithLoaders, AroundFields: graph.Render,
		Authenticate: authenticate,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(inbox.WithCaller(r.Context(), caller, nil)))
	})
}

// askAPI asks for a page with so many notifications.
func askAPI(ctx context.Context, api http.Handler, first int) (*httptest.ResponseRecorder, error) {
	rec, r := newAsk(ctx, first)
	api.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), `"errors"`) {
		return nil, fmt.Errorf("status %d: %.300s", rec.Code, rec.Body)
	}
	return rec, nil
}

// newAsk returns such a request, and where its answer goes.
func newAsk(ctx context.Context, first int) (*httptest.ResponseRecorder, *http.Request) {
	body := fmt.Sprintf(`{"query":%q,"variables":{"first":%d}}`, strings.ReplaceAll(pageQuery, "\n", " "), first)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return httptest.NewRecorder(), r
}

// pageStatements returns what Belfry sends for a user's page.
func pageStatements(ctx context.Context, databaseURL, user string) ([]statement, error) {
	return watch(ctx, databaseURL, func(store *storage.Store) error {
		_, err := askAPI(ctx, newAPI(ctx, store, inbox.Caller{UserID: user}), pageSize)
		return err
	})
}

// dispatchStatement returns what Belfry sends for a dispatch to the users, which it has then made.
func dispatchStatement(ctx context.Context, databaseURL, run string, users []string) (statement, error) {
	sent, err := watch(ctx, databaseURL, func(store *storage.Store) error {
		actor, body, url := "user-1", "Looks good to me, but see line 40.", "https://git.example.com/acme/repo-12/pull/345"
		_, err := store.Dispatch(ctx, &inbox.Event{
			RunID: &run, Kind: "comment", Category: "reviews", Recipients: users, ActorID: &actor,
			Title: `Zoë Müller commented on "Release 12 & what follows"`, Body: &body, URL: &url,
		})
		return err
	})
	if err == nil && len(sent) != 1 {
		err = fmt.Errorf("a dispatch took %d statements", len(sent))
	}
	if err != nil {
		return statement{}, err
	}
	return sent[0], nil
}

// connectAsBelfry opens a connection whose session is as Belfry's are.
func connectAsBelfry(ctx context.Context, databaseURL string) (*pgx.Conn, error) {
	cc, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	maps.Copy(cc.RuntimeParams, storage.Session())
	return pgx.ConnectConfig(ctx, cc)
}

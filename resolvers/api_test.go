package resolvers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/graph"
	"belfry/inbox"
	"belfry/live"
	"belfry/resolvers"
	"belfry/retention"
	"belfry/storage"
	"belfry/storage/storagetest"
	"belfry/transport"
)

// api is the whole API over a database of its own, short of the network and of tokens.
type api struct {
	t          *testing.T
	handler    http.Handler
	store      *storage.Store
	janitor    *retention.Janitor
	statements *statementCounter
	log        *bytes.Buffer
}

// activityTTL is how long activities are kept that do not say so themselves.
const activityTTL = 90 * 24 * time.Hour

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, statements: &statementCounter{}, log: &bytes.Buffer{}}
	a.store = storagetest.Open(t, storage.Config{URL: storagetest.URL(t), Tracer: a.statements})
	logger := slog.New(slog.NewTextHandler(a.log, nil))
	hub := live.NewHub(live.Config{
		ReadBadges: a.store.Badges, ReadFeeds: resolvers.ReadFeedStates(a.store), Broker: live.Local{}, Logger: logger,
	})
	a.janitor = retention.New(retention.Config{Store: a.store, Changed: hub.Changed, Logger: logger})
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); hub.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: resolvers.New(resolvers.Config{
		Store: a.store, Hub: hub, WakePush: func() {}, EraseUser: a.janitor.EraseUser, ActivityTTL: activityTTL,
	})})
	a.handler = transport.New(ctx, schema, transport.Config{
		Logger: logger, Introspection: true, PrepareResponse: resolvers.WithLoaders, AroundFields: graph.Render,
		// A socket's token is the user's id itself.
		Authenticate: func(_ context.Context, token string) (inbox.Caller, error) { return as(token), nil },
	})
	return a
}

// as returns a caller with scopes.
func as(user string, scopes ...inbox.Scope) inbox.Caller {
	return inbox.Caller{UserID: user, Scopes: scopes, ExpiresAt: time.Now().Add(time.Hour)}
}

// backend is a caller with every scope.
func backend() inbox.Caller {
	return as("backend", inbox.ScopeDispatch, inbox.ScopeRead, inbox.ScopeAdmin)
}

// post sends a request and returns its whole answer.
func (a *api) post(caller inbox.Caller, query string, variables any) []byte {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.send(inbox.WithCaller(a.t.Context(), caller, nil), body).Body.Bytes()
}

// send posts a body in a context that says who calls.
func (a *api) send(ctx context.Context, body []byte) *httptest.ResponseRecorder {
	a.t.Helper()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	a.handler.ServeHTTP(rec, req)
	return rec
}

// answer is a response.
type answer struct {
	Data   json.RawMessage
	Errors []answerError
}

type answerError struct {
	Message    string
	Path       []any
	Extensions struct{ Code, Argument, RequestID string }
}

// ask sends a request and reads the answer apart.
func (a *api) ask(caller inbox.Caller, query string, variables any) answer {
	a.t.Helper()
	var got answer
	text := a.post(caller, query, variables)
	if err := json.Unmarshal(text, &got); err != nil {
		a.t.Fatalf("not JSON: %v: %s", err, text)
	}
	return got
}

// must sends a request that has to succeed and decodes its data.
func (a *api) must(caller inbox.Caller, query string, variables, data any) {
	a.t.Helper()
	got := a.ask(caller, query, variables)
	if len(got.Errors) > 0 {
		a.t.Fatalf("unexpected errors: %+v", got.Errors)
	}
	if data == nil {
		return
	}
	if err := json.Unmarshal(got.Data, data); err != nil {
		a.t.Fatalf("data: %v: %s", err, got.Data)
	}
}

// statementCounter counts the statements sent to Postgres, by name, and the round trips that they took.
type statementCounter struct {
	mu    sync.Mutex
	names []string // guarded by mu
	trips int      // guarded by mu
}

// reset forgets what was counted and returns the statements.
func (c *statementCounter) reset() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.names
	c.names, c.trips = nil, 0
	return names
}

// roundTrips returns how many there were since the last reset.
func (c *statementCounter) roundTrips() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trips
}

func (c *statementCounter) addTrip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trips++
}

func (c *statementCounter) add(sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, statementName(sql))
}

func statementName(sql string) string {
	first, _, _ := bytes.Cut([]byte(sql), []byte("\n"))
	return string(bytes.TrimPrefix(first, []byte("-- name: ")))
}

func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	c.add(data.SQL)
	c.addTrip()
	return ctx
}

func (c *statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *statementCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.addTrip()
	return ctx
}

func (c *statementCounter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	c.add(data.SQL)
}

func (c *statementCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

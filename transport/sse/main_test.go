package sse_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"go.uber.org/goleak"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport"
	gqlhttp "belfry/transport/http"
	"belfry/transport/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	query        = `{"query":"{ viewer { userId } }"}`
	subscription = `{"query":"subscription { badgeChanged { user { unreadCount } } }"}`
	unacceptable = `{"query":"{ xyzzy }"}`
)

// stub is a schema in which a test says what happens.
type stub struct {
	graph.ResolverRoot
	viewer func(context.Context) (*inbox.User, error)
	badge  func(context.Context) (<-chan *graph.BadgePayload, error)
	// prepare is called ahead of each response; nil does nothing.
	prepare func()
}

func (s stub) Query() graph.QueryResolver               { return stubQuery{stub: s} }
func (s stub) Mutation() graph.MutationResolver         { return stubMutation{} }
func (s stub) Subscription() graph.SubscriptionResolver { return stubSubscription{stub: s} }
func (s stub) User() graph.UserResolver                 { return stubUser{} }

type stubQuery struct {
	graph.QueryResolver
	stub stub
}

func (q stubQuery) Viewer(ctx context.Context) (*inbox.User, error) {
	if q.stub.viewer == nil {
		return &inbox.User{ID: "ada"}, nil
	}
	return q.stub.viewer(ctx)
}

type stubMutation struct{ graph.MutationResolver }

func (stubMutation) UpdateSettings(context.Context, graph.UpdateSettingsInput) (*graph.UpdateSettingsPayload, error) {
	return &graph.UpdateSettingsPayload{}, nil
}

type stubSubscription struct {
	graph.SubscriptionResolver
	stub stub
}

func (s stubSubscription) BadgeChanged(ctx context.Context) (<-chan *graph.BadgePayload, error) {
	return s.stub.badge(ctx)
}

type stubUser struct{ graph.UserResolver }

func (stubUser) UserID(_ context.Context, u *inbox.User) (string, error) { return u.ID, nil }

func (stubUser) UnreadCount(_ context.Context, u *inbox.User) (int32, error) {
	if u.Badge == nil {
		panic("no badge")
	}
	return u.Badge.Unread, nil
}

func badge(unread int32) *graph.BadgePayload {
	return &graph.BadgePayload{User: &inbox.User{ID: "ada", Badge: &inbox.Badge{Unread: unread}}}
}

// badges sends these and ends.
func badges(unread ...int32) func(context.Context) (<-chan *graph.BadgePayload, error) {
	return func(context.Context) (<-chan *graph.BadgePayload, error) {
		c := make(chan *graph.BadgePayload, len(unread))
		for _, n := range unread {
			c <- badge(n)
		}
		close(c)
		return c, nil
	}
}

// live returns a channel that a test sends on, and a subscription to it.
func live() (chan<- *graph.BadgePayload, func(context.Context) (<-chan *graph.BadgePayload, error)) {
	c := make(chan *graph.BadgePayload)
	return c, func(context.Context) (<-chan *graph.BadgePayload, error) { return c, nil }
}

// newAPI returns the API as it is served.
func newAPI(t *testing.T, s stub) *transport.API {
	t.Helper()
	return transport.New(t.Context(), graph.NewExecutableSchema(graph.Config{Resolvers: s}), transport.Config{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		PrepareResponse: func(ctx context.Context) context.Context {
			if s.prepare != nil {
				s.prepare()
			}
			return ctx
		},
	})
}

// newServer returns a server over TCP that is not started yet.
func newServer(t *testing.T, s stub, cfg sse.Config) *httptest.Server {
	t.Helper()
	h := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: s}))
	h.AddTransport(sse.New(cfg))
	h.AddTransport(gqlhttp.Transport{})
	srv := httptest.NewUnstartedServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func newRequest(ctx context.Context, method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// client is who a handler writes to, and notes what comes when.
type client struct {
	header  http.Header
	started time.Time
	// reads says whether it takes a frame; where it does not, writing waits for the deadline. Nil: all.
	reads func(frame string) bool

	mu       sync.Mutex
	status   int
	deadline time.Time
	got      []arrival
}

// arrival is what came in one piece, and how long after the start.
type arrival struct {
	After time.Duration
	Text  string
}

func newClient() *client { return &client{header: http.Header{}, started: time.Now()} }

func (c *client) Header() http.Header { return c.header }

func (c *client) WriteHeader(status int) { c.status = status }

func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads != nil && !c.reads(string(p)) {
		<-time.After(time.Until(c.deadline))
		return 0, context.DeadlineExceeded
	}
	c.got = append(c.got, arrival{time.Since(c.started), string(p)})
	return len(p), nil
}

// FlushError and SetWriteDeadline are for http.ResponseController.
func (c *client) FlushError() error { return nil }

func (c *client) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

// text is everything that came.
func (c *client) text() string {
	var b strings.Builder
	for _, a := range c.got {
		b.WriteString(a.Text)
	}
	return b.String()
}

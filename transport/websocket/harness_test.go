package websocket_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	ws "github.com/coder/websocket"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport/websocket"
)

// stub is a schema of which viewer and badgeChanged answer, with what a test says.
type stub struct {
	graph.ResolverRoot
	viewer func(context.Context) (*inbox.User, error)
	badge  func(context.Context) (<-chan *graph.BadgePayload, error)
}

func (s stub) Query() graph.QueryResolver { return stubQuery{stub: s} }

func (s stub) Subscription() graph.SubscriptionResolver { return stubSubscription{stub: s} }

type stubQuery struct {
	graph.QueryResolver
	stub stub
}

func (q stubQuery) Viewer(ctx context.Context) (*inbox.User, error) { return q.stub.viewer(ctx) }

type stubSubscription struct {
	graph.SubscriptionResolver
	stub stub
}

func (s stubSubscription) BadgeChanged(ctx context.Context) (<-chan *graph.BadgePayload, error) {
	return s.stub.badge(ctx)
}

// server is a running transport.
type server struct {
	*httptest.Server
	transport *websocket.Transport
	// badges is what every subscription reads from.
	badges chan *graph.BadgePayload
	// ended gets a value when a subscription's context has ended.
	ended chan struct{}
	// blocked is open while viewer waits for its context.
	blocked chan struct{}
}

// newServer starts a transport. Of its tokens "good" is ada's, "short" is ada's for 100 ms, "down" can't be
// checked, and the rest are refused. viewer answers with the caller; blockViewer keeps it waiting.
func newServer(t *testing.T, cfg websocket.Config) *server {
	t.Helper()
	s := &server{badges: make(chan *graph.BadgePayload, 100), ended: make(chan struct{}, 100), blocked: make(chan struct{}, 100)}
	root := stub{
		viewer: func(ctx context.Context) (*inbox.User, error) {
			caller, err := inbox.CallerFrom(ctx)
			switch {
			case err != nil:
				return nil, err
			case caller.UserID == "panics":
				panic("viewer")
			case caller.UserID == "blocks":
				s.blocked <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &inbox.User{ID: caller.UserID}, nil
		},
		badge: func(ctx context.Context) (<-chan *graph.BadgePayload, error) {
			if _, err := inbox.CallerFrom(ctx); err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() {
				select {
				case s.ended <- struct{}{}:
				default: // nobody counts that many
				}
			})
			return s.badges, nil
		},
	}
	cfg.Authenticate = authenticate
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	s.transport = websocket.New(ctx, cfg)
	gql := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: root}))
	gql.AddTransport(s.transport)
	gql.SetRecoverFunc(func(context.Context, any) error { return errors.New("recovered") })
	s.Server = httptest.NewServer(withHeaderToken(gql))
	t.Cleanup(func() {
		s.Close()
		drain, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Millisecond)
		defer stop()
		if err := s.transport.Drain(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	})
	return s
}

// withHeaderToken does what package auth does for the request that opens a socket.
func withHeaderToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := authenticate(r.Context(), r.Header.Get("Authorization"))
		next.ServeHTTP(w, r.WithContext(inbox.WithCaller(r.Context(), caller, err)))
	})
}

func authenticate(_ context.Context, token string) (inbox.Caller, error) {
	switch token {
	case "good":
		return inbox.Caller{UserID: "ada", ExpiresAt: time.Now().Add(time.Hour)}, nil
	case "short":
		return inbox.Caller{UserID: "ada", ExpiresAt: time.Now().Add(100 * time.Millisecond)}, nil
	case "panics", "blocks":
		return inbox.Caller{UserID: token, ExpiresAt: time.Now().Add(time.Hour)}, nil
	case "down":
		return inbox.Caller{}, inbox.Errorf(inbox.Unavailable, "no keys")
	}
	return inbox.Caller{}, inbox.Errorf(inbox.Unauthenticated, "authentication required")
}

// client is a raw socket.
type client struct {
	t    *testing.T
	conn *ws.Conn
	ctx  context.Context
}

func (s *server) dial(t *testing.T, header http.Header, protocols ...string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	conn, resp, err := ws.Dial(ctx, s.URL, &ws.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	c := &client{t: t, conn: conn, ctx: ctx}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return c
}

// open dials and initialises with a token.
func (s *server) open(t *testing.T, token string) *client {
	t.Helper()
	c := s.dial(t, nil, "graphql-transport-ws")
	payload, err := json.Marshal(map[string]string{"Authorization": "Bearer " + token})
	if err != nil {
		t.Fatal(err)
	}
	c.send(`{"type":"connection_init","payload":` + string(payload) + `}`)
	c.want(`{"type":"connection_ack"}`)
	return c
}

func (c *client) send(message string) {
	c.t.Helper()
	if err := c.conn.Write(c.ctx, ws.MessageText, []byte(message)); err != nil {
		c.t.Fatalf("send %s: %v", message, err)
	}
}

// want reads one message, or the close of the socket as "code reason".
func (c *client) want(want string) {
	c.t.Helper()
	if got := c.read(); got != want {
		c.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func (c *client) read() string {
	_, data, err := c.conn.Read(c.ctx)
	if closed, ok := errors.AsType[ws.CloseError](err); ok {
		text, _ := json.Marshal(closed.Reason)
		return closeText(closed.Code, string(text))
	}
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func closeText(code ws.StatusCode, reason string) string {
	number, _ := json.Marshal(int(code))
	return string(number) + " " + reason
}

package http_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a schema in which little answers, and always the same.
type stub struct{ graph.ResolverRoot }

func (stub) Query() graph.QueryResolver               { return stubQuery{} }
func (stub) Mutation() graph.MutationResolver         { return stubMutation{} }
func (stub) Subscription() graph.SubscriptionResolver { return stubSubscription{} }
func (stub) User() graph.UserResolver                 { return stubUser{} }

type stubQuery struct{ graph.QueryResolver }

func (stubQuery) Viewer(context.Context) (*inbox.User, error) { return &inbox.User{ID: "ada"}, nil }

func (stubQuery) User(_ context.Context, userID string) (*inbox.User, error) {
	if userID == "nobody" {
		return nil, inbox.Errorf(inbox.Forbidden, "not yours")
	}
	return &inbox.User{ID: userID}, nil
}

type stubUser struct{ graph.UserResolver }

func (stubUser) UserID(_ context.Context, u *inbox.User) (string, error) { return u.ID, nil }

type stubMutation struct{ graph.MutationResolver }

func (stubMutation) UpdateSettings(context.Context, graph.UpdateSettingsInput) (*graph.UpdateSettingsPayload, error) {
	return &graph.UpdateSettingsPayload{}, nil
}

// stubSubscription has nothing to say, and panics when it is asked.
type stubSubscription struct{ graph.SubscriptionResolver }

// newHandler returns the API as it is served, without introspection.
func newHandler(t testing.TB) http.Handler {
	t.Helper()
	return transport.New(t.Context(), graph.NewExecutableSchema(graph.Config{Resolvers: stub{}}), transport.Config{
		Logger:          slog.New(slog.NewTextHandler(t.Output(), nil)),
		PrepareResponse: func(ctx context.Context) context.Context { return ctx },
	})
}

// send sends a request whose headers are given as name, value, name, value.
func send(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func post(h http.Handler, body string, headers ...string) *httptest.ResponseRecorder {
	return send(h, http.MethodPost, "/graphql", body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

func get(h http.Handler, query string, headers ...string) *httptest.ResponseRecorder {
	return send(h, http.MethodGet, "/graphql?query="+url.QueryEscape(query), "", headers...)
}

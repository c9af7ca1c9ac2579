package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport"
)

// stub is a schema of which only viewer answers, with what a test says.
type stub struct {
	graph.ResolverRoot
	viewer func(context.Context) (*inbox.User, error)
}

func (s stub) Query() graph.QueryResolver { return stubQuery{stub: s} }

type stubQuery struct {
	graph.QueryResolver
	stub stub
}

func (q stubQuery) Viewer(ctx context.Context) (*inbox.User, error) { return q.stub.viewer(ctx) }

// newHandler returns an API whose viewer answers like that, and its log.
func newHandler(t *testing.T, viewer func(context.Context) (*inbox.User, error), introspection bool) (http.Handler, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	return transport.New(t.Context(), graph.NewExecutableSchema(graph.Config{Resolvers: stub{viewer: viewer}}), transport.Config{
		Logger: slog.New(slog.NewJSONHandler(log, nil)), Introspection: introspection,
		PrepareResponse: func(ctx context.Context) context.Context { return ctx },
	}), log
}

func post(ctx context.Context, h http.Handler, body io.Reader) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", body)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

type shownError struct {
	Message    string
	Path       []any
	Extensions map[string]any
}

func errorsOf(t *testing.T, rec *httptest.ResponseRecorder) []shownError {
	t.Helper()
	var answer struct{ Errors []shownError }
	if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, rec.Body)
	}
	return answer.Errors
}

func TestErrorsAsClientsSeeThem(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.1:5432: connection refused")
	tests := []struct {
		name string
		err  error
		want shownError
	}{
		{"domain", inbox.Errorf(inbox.Forbidden, "the token lacks a scope"),
			shownError{"the token lacks a scope", []any{"viewer"}, map[string]any{"code": "FORBIDDEN"}}},
		{"wrapped", fmt.Errorf("feed: %w", inbox.BadArgument("first", "first must be 0 to 100")),
			shownError{"first must be 0 to 100", []any{"viewer"}, map[string]any{"code": "BAD_USER_INPUT", "argument": "first"}}},
		{"unavailable keeps its cause for the log", inbox.Wrap(inbox.Unavailable, cause, "the database does not answer"),
			shownError{"the database does not answer", []any{"viewer"}, map[string]any{"code": "UNAVAILABLE"}}},
		{"deadline", fmt.Errorf("x: %w", context.DeadlineExceeded),
			shownError{"the operation took too long", []any{"viewer"}, map[string]any{"code": "UNAVAILABLE"}}},
	}
	for _, tt := range tests {
		h, log := newHandler(t, func(context.Context) (*inbox.User, error) { return nil, tt.err }, false)
		rec := post(t.Context(), h, strings.NewReader(`{"query":"{ viewer { id } }"}`))
		if diff := cmp.Diff([]shownError{tt.want}, errorsOf(t, rec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if errors.Is(tt.err, cause) != strings.Contains(log.String(), cause.Error()) {
			t.Errorf("%s: log: %s", tt.name, log)
		}
	}
}

// What nobody foresaw reaches the log whole, and the client only as an id by which to find it there.
func TestInternalErrorsAreHidden(t *testing.T) {
	t.Parallel()
	tests := map[string]func(context.Context) (*inbox.User, error){
		"error":    func(context.Context) (*inbox.User, error) { return nil, errors.New("secret detail") },
		"internal": func(context.Context) (*inbox.User, error) { return nil, inbox.Errorf(inbox.Internal, "secret detail") },
		"panic":    func(context.Context) (*inbox.User, error) { panic("secret detail") },
	}
	for name, viewer := range tests {
		h, log := newHandler(t, viewer, false)
		rec := post(t.Context(), h, strings.NewReader(`{"query":"{ viewer { id } }"}`))
		got := errorsOf(t, rec)
		if len(got) != 1 || got[0].Message != "internal error" || got[0].Extensions["code"] != "INTERNAL" ||
			strings.Contains(rec.Body.String(), "secret") {
			t.Fatalf("%s: got %s", name, rec.Body)
		}
		id, _ := got[0].Extensions["requestId"].(string)
		if id == "" || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "secret detail") {
			t.Errorf("%s: id %q, log %s", name, id, log)
		}
		if isPanic := name == "panic"; isPanic != strings.Contains(log.String(), "handler_test.go") {
			t.Errorf("%s: stack in the log: want %t: %s", name, isPanic, log)
		}
	}
}

func TestAClientThatHasGoneIsNoDefect(t *testing.T) {
	t.Parallel()
	h, log := newHandler(t, func(context.Context) (*inbox.User, error) { return nil, fmt.Errorf("x: %w", context.Canceled) }, false)
	post(t.Context(), h, strings.NewReader(`{"query":"{ viewer { id } }"}`))
	if log.Len() > 0 {
		t.Errorf("log: %s", log)
	}
}

func TestEngineErrorsKeepTheirCode(t *testing.T) {
	t.Parallel()
	h, _ := newHandler(t, nil, false)
	tests := []struct{ body, want string }{
		{`{"query":"{"}`, "GRAPHQL_PARSE_FAILED"},
		{`{"query":"{ nobody }"}`, "GRAPHQL_VALIDATION_FAILED"},
		{`{"query":"query ($x: Int!) { viewer { notifications(first: $x) { nodes { id } } } }"}`, "GRAPHQL_VALIDATION_FAILED"},
		{`{"query":"{ __schema { types { name } } }"}`, ""},
	}
	for _, tt := range tests {
		rec := post(t.Context(), h, strings.NewReader(tt.body))
		got := errorsOf(t, rec)
		if len(got) != 1 || tt.want != "" && got[0].Extensions["code"] != tt.want {
			t.Errorf("%s: got %s", tt.body, rec.Body)
		}
	}
	h, _ = newHandler(t, nil, true)
	if rec := post(t.Context(), h, strings.NewReader(`{"query":"{ __schema { types { name } } }"}`)); strings.Contains(rec.Body.String(), "errors") {
		t.Errorf("introspection where it is on: got %s", rec.Body)
	}
}

func TestDocumentsOfTooManyTokens(t *testing.T) {
	t.Parallel()
	h, _ := newHandler(t, nil, false)
	rec := post(t.Context(), h, strings.NewReader(`{"query":"{`+strings.Repeat(" a", 2001)+`}"}`))
	if got := errorsOf(t, rec); len(got) != 1 || got[0].Extensions["code"] != "GRAPHQL_PARSE_FAILED" {
		t.Errorf("got %s", rec.Body)
	}
}

// onlyReader hides a reader's length, so that the request has none either.
type onlyReader struct{ io.Reader }

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	producer := inbox.WithCaller(t.Context(), inbox.Caller{UserID: "p", Scopes: []inbox.Scope{inbox.ScopeDispatch}}, nil)
	body := func(size int) string {
		const query = `{"query":"{ viewer { id } }"`
		return query + strings.Repeat(" ", size-len(query)-1) + "}"
	}
	tests := []struct {
		name string
		ctx  context.Context
		size int
		want int
	}{
		{"at the limit", t.Context(), 128 << 10, http.StatusOK},
		{"above the limit", t.Context(), 128<<10 + 1, http.StatusRequestEntityTooLarge},
		{"5 MB", t.Context(), 5 << 20, http.StatusRequestEntityTooLarge},
		{"a producer's at the limit", producer, 2 << 20, http.StatusOK},
		{"a producer's above the limit", producer, 2<<20 + 1, http.StatusRequestEntityTooLarge},
	}
	h, _ := newHandler(t, func(context.Context) (*inbox.User, error) { return &inbox.User{ID: "ada"}, nil }, false)
	for _, tt := range tests {
		for _, reader := range []io.Reader{strings.NewReader(body(tt.size)), onlyReader{strings.NewReader(body(tt.size))}} {
			rec := post(tt.ctx, h, reader)
			if rec.Code != tt.want {
				t.Errorf("%s (%T): got %d, want %d", tt.name, reader, rec.Code, tt.want)
			}
			if got := len(errorsOf(t, rec)) > 0; got != (tt.want != http.StatusOK) {
				t.Errorf("%s: errors: got %t: %s", tt.name, got, rec.Body)
			}
		}
	}
}

// brokenReader fails like a connection that breaks in the middle of a body.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABrokenBody(t *testing.T) {
	t.Parallel()
	h, _ := newHandler(t, nil, false)
	if rec := post(t.Context(), h, brokenReader{}); rec.Code != http.StatusBadRequest {
		t.Errorf("got %d, want 400", rec.Code)
	}
}

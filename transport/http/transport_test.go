package http_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/go-cmp/cmp"

	"belfry/graph"
	gqlhttp "belfry/transport/http"
)

// The Accept headers of @apollo/client 4.3.8, @urql/core 6.0.3 and graphql-sse 2.6.1.
const (
	apollo             = "application/graphql-response+json,application/json;q=0.9"
	apolloSubscription = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0," + apollo
	urql               = "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
	urqlSubscription   = "text/event-stream, multipart/mixed"
)

const (
	typeJSON     = "application/json; charset=utf-8"
	typeResponse = "application/graphql-response+json; charset=utf-8"
)

// answer is what a client gets.
type answer struct {
	Status     int
	Type, Body string
}

const (
	good         = `{"query":"{ viewer { userId } }"}`
	goodAnswer   = `{"data":{"viewer":{"userId":"ada"}}}`
	broken       = `{"query":"{"}`
	brokenAnswer = `{"errors":[{"message":"Expected Name, found \u003cEOF\u003e","locations":[{"line":1,"column":2}],` +
		`"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`
	partial       = `{"query":"{ user(userId: \"nobody\") { userId } }"}`
	partialAnswer = `{"errors":[{"message":"not yours","path":["user"],"locations":[{"line":1,"column":3}],` +
		`"extensions":{"code":"FORBIDDEN"}}],"data":{"user":null}}`
	subscription       = `{"query":"subscription { badgeChanged { user { id } } }"}`
	subscriptionAnswer = `{"errors":[{"message":"a subscription needs a WebSocket, or a request that accepts text/event-stream",` +
		`"extensions":{"code":"BAD_USER_INPUT"}}]}`
	unacceptableAnswer = `{"errors":[{"message":"what there is: application/json and application/graphql-response+json",` +
		`"extensions":{"code":"BAD_USER_INPUT"}}]}`
	missing       = `{"qeury":"{ viewer { userId } }"}`
	missingAnswer = `{"errors":[{"message":"query is missing","extensions":{"code":"BAD_USER_INPUT"}}]}`
)

func TestStatusAndMediaType(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	tests := []struct {
		name, accept, body string
		want               answer
	}{
		{"nothing accepted in particular", "", good, answer{200, typeJSON, goodAnswer}},
		{"anything", "*/*", good, answer{200, typeJSON, goodAnswer}},
		{"any application", "application/*", good, answer{200, typeJSON, goodAnswer}},
		{"JSON", "application/json", good, answer{200, typeJSON, goodAnswer}},
		{"the newer type", "application/graphql-response+json", good, answer{200, typeResponse, goodAnswer}},
		{"Apollo", apollo, good, answer{200, typeResponse, goodAnswer}},
		{"urql", urql, good, answer{200, typeResponse, goodAnswer}},
		{"a weight turns the order", "application/graphql-response+json;q=0.1, application/json;q=0.2", good,
			answer{200, typeJSON, goodAnswer}},
		{"nothing that there is", "text/plain", good, answer{406, typeJSON, unacceptableAnswer}},
		{"all but what there is", "*/*, application/*;q=0", good, answer{406, typeJSON, unacceptableAnswer}},

		{"broken, JSON", "application/json", broken, answer{200, typeJSON, brokenAnswer}},
		{"broken, anything", "*/*", broken, answer{200, typeJSON, brokenAnswer}},
		{"broken, Apollo", apollo, broken, answer{400, typeResponse, brokenAnswer}},
		{"broken, urql", urql, broken, answer{400, typeResponse, brokenAnswer}},
		{"broken, nothing that there is", "image/png", broken, answer{406, typeJSON, unacceptableAnswer}},

		{"an error in a field, JSON", "application/json", partial, answer{200, typeJSON, partialAnswer}},
		{"an error in a field, Apollo", apollo, partial, answer{200, typeResponse, partialAnswer}},

		{"subscription, JSON", "application/json", subscription, answer{200, typeJSON, subscriptionAnswer}},
		{"subscription, anything", "*/*", subscription, answer{200, typeJSON, subscriptionAnswer}},
		{"subscription, Apollo", apolloSubscription, subscription, answer{400, typeResponse, subscriptionAnswer}},

		{"not a request, JSON", "application/json", missing, answer{400, typeJSON, missingAnswer}},
		{"not a request, Apollo", apollo, missing, answer{400, typeResponse, missingAnswer}},
		{"not a request, urql's subscription", urqlSubscription, missing, answer{400, typeJSON, missingAnswer}},
	}
	for _, tt := range tests {
		rec := post(h, tt.body, "Accept", tt.accept)
		got := answer{rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got, want := rec.Header().Get("Content-Length"), strconv.Itoa(rec.Body.Len()); got != want {
			t.Errorf("%s: Content-Length: got %s, want %s", tt.name, got, want)
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got := rec.Header().Get(name); got != want {
				t.Errorf("%s: %s: got %q, want %q", tt.name, name, got, want)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const all = "OPTIONS, GET, POST"
	tests := []struct {
		method, query string
		want          int
		allow         string
	}{
		{http.MethodGet, "{__typename}", 200, ""},
		{http.MethodGet, "mutation{updateSettings(input:{}){userErrors{message}}}", 405, "POST"},
		{http.MethodGet, "subscription{badgeChanged{user{id}}}", 400, ""},
		{http.MethodOptions, "", 204, all},
		{http.MethodHead, "{__typename}", 405, all},
		{http.MethodPut, "{__typename}", 405, all},
		{http.MethodDelete, "", 405, all},
		{http.MethodPatch, "", 405, all},
	}
	for _, tt := range tests {
		rec := send(h, tt.method, "/graphql?query="+tt.query, "", "Accept", apollo)
		if rec.Code != tt.want || rec.Header().Get("Allow") != tt.allow {
			t.Errorf("%s %s: got %d, Allow %q, want %d, %q", tt.method, tt.query, rec.Code, rec.Header().Get("Allow"), tt.want, tt.allow)
		}
		if strings.Contains(rec.Body.String(), `"data"`) != (tt.want == 200) {
			t.Errorf("%s %s: got %s", tt.method, tt.query, rec.Body)
		}
	}
}

func TestAMutationByPOST(t *testing.T) {
	t.Parallel()
	rec := post(newHandler(t), `{"query":"mutation { updateSettings(input: {}) { userErrors { message } } }"}`)
	if got, want := rec.Body.String(), `{"data":{"updateSettings":{"userErrors":[]}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// writes counts what a handler writes.
type writes struct {
	http.ResponseWriter
	n int
}

func (w *writes) Write(p []byte) (int, error) {
	w.n++
	return w.ResponseWriter.Write(p)
}

func TestAnAnswerIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counter := &writes{ResponseWriter: w}
		h.ServeHTTP(counter, r)
		if counter.n != 1 {
			t.Errorf("got %d writes, want 1", counter.n)
		}
	})
	post(counted, good)
	post(counted, broken)
}

// What an extension refuses is not executed either.
func TestAnOperationThatIsRefused(t *testing.T) {
	t.Parallel()
	h := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: stub{}}))
	h.AddTransport(gqlhttp.Transport{})
	h.AroundOperations(func(ctx context.Context, _ graphql.OperationHandler) graphql.ResponseHandler {
		return graphql.OneShot(graphql.ErrorResponse(ctx, "no"))
	})
	for accept, want := range map[string]answer{
		apollo: {400, typeResponse, `{"errors":[{"message":"no"}]}`},
		"":     {200, typeJSON, `{"errors":[{"message":"no"}]}`},
	} {
		rec := post(h, good, "Accept", accept)
		if got := (answer{rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()}); got != want {
			t.Errorf("%q: got %v, want %v", accept, got, want)
		}
	}
}

// Nobody is left to tell.
func TestAClientThatHasGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(good))
	r.Header.Set("Content-Type", "application/json")
	newHandler(t).ServeHTTP(rec, r)
	if got := rec.Body.String(); got != "" {
		t.Errorf("got %s", got)
	}
}

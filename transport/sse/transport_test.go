package sse_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The Accept headers of @apollo/client 4.3.8 and @urql/core 6.0.3.
const (
	apollo             = "application/graphql-response+json,application/json;q=0.9"
	apolloSubscription = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0," + apollo
	urql               = "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
	urqlSubscription   = "text/event-stream, multipart/mixed"
)

const (
	open     = ":\n\n"
	complete = "event: complete\ndata:\n\n"
)

func next(result string) string { return "event: next\ndata: " + result + "\n\n" }

func TestWhatIsAStream(t *testing.T) {
	t.Parallel()
	h := newAPI(t, stub{badge: badges(3, 4)})
	const (
		stream     = "text/event-stream"
		json       = "application/json; charset=utf-8"
		response   = "application/graphql-response+json; charset=utf-8"
		viewer     = `{"data":{"viewer":{"userId":"ada"}}}`
		noXyzzy    = `{"errors":[{"message":"Cannot query field \"xyzzy\" on type \"Query\".","locations":[{"line":1,"column":3}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`
		noStream   = `{"errors":[{"message":"a subscription needs a WebSocket, or a request that accepts text/event-stream","extensions":{"code":"BAD_USER_INPUT"}}]}`
		notThere   = `{"errors":[{"message":"what there is: application/json and application/graphql-response+json","extensions":{"code":"BAD_USER_INPUT"}}]}`
		mutation   = `{"query":"mutation { updateSettings(input: {}) { userErrors { message } } }"}`
		anonymous  = `{"query":"query ($x: Boolean!) { viewer { userId @include(if: $x) } }"}`
		noVariable = `{"errors":[{"message":"must be defined","path":["variable","x"],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`
	)
	events := open + next(`{"data":{"badgeChanged":{"user":{"unreadCount":3}}}}`) +
		next(`{"data":{"badgeChanged":{"user":{"unreadCount":4}}}}`) + complete
	type answer struct {
		Status     int
		Type, Body string
	}
	tests := []struct {
		name, accept, body string
		want               answer
	}{
		{"query, graphql-sse", stream, query, answer{200, stream, open + next(viewer) + complete}},
		{"query, stream preferred", "application/json;q=0.8, text/event-stream", query, answer{200, stream, open + next(viewer) + complete}},
		{"query, stream or anything", "text/event-stream, */*;q=0.1", query, answer{200, stream, open + next(viewer) + complete}},
		{"query, urql", urql, query, answer{200, response, viewer}},
		{"query, urql's subscription", urqlSubscription, query, answer{200, stream, open + next(viewer) + complete}},
		{"query, Apollo", apollo, query, answer{200, response, viewer}},
		{"query, JSON preferred", "text/event-stream;q=0.8, application/json", query, answer{200, json, viewer}},
		{"query, as soon the one as the other", "text/event-stream, application/json", query, answer{200, json, viewer}},
		{"query, no stream", "text/event-stream;q=0, application/json", query, answer{200, json, viewer}},
		{"query, any text", "text/*", query, answer{406, json, notThere}},
		{"mutation, graphql-sse", stream, mutation, answer{200, stream, open + next(`{"data":{"updateSettings":{"userErrors":[]}}}`) + complete}},

		{"subscription, graphql-sse", stream, subscription, answer{200, stream, events}},
		{"subscription, urql", urqlSubscription, subscription, answer{200, stream, events}},
		{"subscription, urql's query", urql, subscription, answer{200, stream, events}},
		{"subscription, JSON preferred", "text/event-stream;q=0.1, application/json", subscription, answer{200, stream, events}},
		{"subscription, Apollo", apolloSubscription, subscription, answer{400, response, noStream}},
		{"subscription, anything", "*/*", subscription, answer{200, json, noStream}},
		{"subscription, JSON", "application/json", subscription, answer{200, json, noStream}},
		{"subscription, no stream", "text/event-stream;q=0, application/json", subscription, answer{200, json, noStream}},

		{"invalid, graphql-sse", stream, unacceptable, answer{200, stream, open + next(noXyzzy) + complete}},
		{"invalid, urql", urql, unacceptable, answer{400, response, noXyzzy}},
		{"invalid variables", stream, anonymous, answer{200, stream, open + next(noVariable) + complete}},
		{"no request", stream, `{}`, answer{400, json, `{"errors":[{"message":"query is missing","extensions":{"code":"BAD_USER_INPUT"}}]}`}},
		{"no JSON", stream, `{`, answer{400, json, `{"errors":[{"message":"the request body is not JSON","extensions":{"code":"BAD_USER_INPUT"}}]}`}},
	}
	for _, tt := range tests {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, newRequest(t.Context(), http.MethodPost, "/graphql", tt.body, "Accept", tt.accept))
		got := answer{rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	newAPI(t, stub{badge: badges()}).ServeHTTP(rec, newRequest(t.Context(), http.MethodPost, "/graphql", subscription, "Accept", "text/event-stream"))
	want := http.Header{
		"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache"}, "X-Accel-Buffering": {"no"},
		"X-Content-Type-Options": {"nosniff"},
	}
	if diff := cmp.Diff(want, rec.Header()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What an EventSource sends, whose page is on the same origin or not.
func TestGET(t *testing.T) {
	t.Parallel()
	h := newAPI(t, stub{badge: badges(3)})
	const live = "subscription{badgeChanged{user{unreadCount}}}"
	tests := []struct {
		name, query string
		headers     []string
		want        int
	}{
		{"same origin", live, []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"same origin, plain HTTP", live, nil, 200},
		{"another origin", live, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{"another origin, plain HTTP", live, []string{"Origin", "http://evil.example"}, 403},
		{"a mutation", "mutation{updateSettings(input:{}){userErrors{message}}}", nil, 405},
	}
	for _, tt := range tests {
		rec := httptest.NewRecorder()
		r := newRequest(t.Context(), http.MethodGet, "/graphql?query="+url.QueryEscape(tt.query), "", tt.headers...)
		r.Header.Set("Accept", "text/event-stream")
		h.ServeHTTP(rec, r)
		if rec.Code != tt.want || strings.Contains(rec.Body.String(), "event: next") != (tt.want == 200) {
			t.Errorf("%s: got %d: %s", tt.name, rec.Code, rec.Body)
		}
	}
}

// The single connection mode of graphql-sse begins with a PUT.
func TestNoReservations(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	newAPI(t, stub{}).ServeHTTP(rec, newRequest(t.Context(), http.MethodPut, "/graphql", "", "Accept", "text/event-stream"))
	if got := rec.Code; got != http.StatusMethodNotAllowed {
		t.Errorf("got %d, want 405", got)
	}
}

package http_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestContentTypes(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	tests := []struct {
		contentType string
		want        int
	}{
		{"application/json", 200},
		{"Application/JSON", 200},
		{"application/json; charset=utf-8", 200},
		{`application/json; charset="UTF-8"`, 200},
		{"application/json;charset=utf-16", 415},
		{"application/json; charset=", 415},
		{"application/jsonp", 415},
		{"application/graphql", 415},
		{"text/json", 415},
		// What a form can send.
		{"text/plain", 415},
		{"text/plain; application/json", 415},
		{"application/x-www-form-urlencoded", 415},
		{"multipart/form-data; boundary=x", 415},
		{"", 415},
	}
	for _, tt := range tests {
		rec := send(h, http.MethodPost, "/graphql", good, "Content-Type", tt.contentType)
		if rec.Code != tt.want {
			t.Errorf("%q: got %d, want %d", tt.contentType, rec.Code, tt.want)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	tests := []struct{ body, want string }{
		{`{"query":"{ __typename }"}`, ""},
		{" \n{ \"query\" : \"{ __typename }\" }\r\n ", ""},
		{`{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null}`, ""},
		{`{"query":"{ __typename }","variables":{},"operationName":"","extensions":{}}`, ""},
		{`{"query":"{ __typename }","doc_id":[{"a":1}],"Variables":3,"Query":3,"QUERY":"x","":null}`, ""},

		{``, "the request body is not JSON"},
		{`{`, "the request body is not JSON"},
		{`{"query":"{ __typename }"`, "the request body is not JSON"},
		{`{"query":"{ __typename }",}`, "the request body is not JSON"},
		{`{"query" "{ __typename }"}`, "the request body is not JSON"},
		{`{"query":"{ __typename }","x":}`, "the request body is not JSON"},
		{`{"query":"{ __typename }","variables":{"a":tru}}`, "the request body is not JSON"},
		{`{query:"{ __typename }"}`, "the request body is not JSON"},
		{"{\"query\":\"{ __typename }\xff\"}", "the request body is not UTF-8"},
		{"\xef\xbb\xbf{\"query\":\"{ __typename }\"}", "the request body is not JSON"},
		{`{"query":"{ __typename }"}{"query":"{ __typename }"}`, "something follows the JSON object in the request body"},
		{`{"query":"{ __typename }"}]`, "something follows the JSON object in the request body"},
		{`{"query":"{ __typename }"} x`, "something follows the JSON object in the request body"},
		{`null`, "the request body is not a JSON object"},
		{`"{ __typename }"`, "the request body is not a JSON object"},
		{`[{"query":"{ __typename }"}]`, "batches are not taken: send one operation a request"},

		{`{}`, "query is missing"},
		{`{"query":null}`, "query is missing"},
		{`{"Query":"{ __typename }"}`, "query is missing"},
		{`{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}`, "query is missing"},
		{`{"query":1}`, "query is not a string"},
		{`{"query":{"a":"b"}}`, "query is not a string"},
		{`{"query":"{ __typename }","operationName":false}`, "operationName is not a string"},
		{`{"query":"{ __typename }","variables":[]}`, "variables is not a JSON object"},
		{`{"query":"{ __typename }","variables":"{}"}`, "variables is not a JSON object"},
		{`{"query":"{ __typename }","extensions":0}`, "extensions is not a JSON object"},
		{`{"query":"{ __typename }","query":"{ viewer { id } }"}`, "query is there more than once"},
		{`{"variables":{},"query":"{ __typename }","variables":null}`, "variables is there more than once"},
	}
	for _, tt := range tests {
		rec := post(h, tt.body)
		want := answer{200, typeJSON, `{"data":{"__typename":"Query"}}`}
		if tt.want != "" {
			want = answer{400, typeJSON, `{"errors":[{"message":"` + tt.want + `","extensions":{"code":"BAD_USER_INPUT"}}]}`}
		}
		if got := (answer{rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()}); got != want {
			t.Errorf("%s: got %v, want %v", tt.body, got, want)
		}
	}
}

func TestQueryStrings(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const withVariable = "query Q($u: String!) { user(userId: $u) { userId } } query R { __typename }"
	encode := func(pairs ...string) string {
		var b strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			b.WriteString("&" + pairs[i] + "=" + url.QueryEscape(pairs[i+1]))
		}
		return strings.TrimPrefix(b.String(), "&")
	}
	const bert, typename = `{"data":{"user":{"userId":"bert"}}}`, `{"data":{"__typename":"Query"}}`
	tests := []struct{ query, want string }{
		{encode("query", withVariable, "operationName", "Q", "variables", `{"u":"bert"}`), bert},
		{encode("query", withVariable, "operationName", "Q", "variables", ` {"u":"bert"} `, "extensions", `{"a":1}`, "x", "y", "x", "y"), bert},
		{encode("query", withVariable, "operationName", "R", "variables", "", "extensions", ""), typename},
		{encode("query", "{__typename}", "variables", "null"), typename},
		{encode("query", "{__typename}", "variables", "[]"), "variables is not a JSON object"},
		{encode("query", "{__typename}", "variables", "{} {}"), "variables is not a JSON object"},
		{encode("query", "{__typename}", "variables", "{"), "variables is not a JSON object"},
		{encode("query", "{__typename}", "extensions", "1"), "extensions is not a JSON object"},
		{encode("query", "{__typename}", "query", "{__typename}"), "query is there more than once"},
		{encode("variables", "{}"), "query is missing"},
		{"", "query is missing"},
		{"query=%7B__typename%7D&x=%zz", "the query string is malformed"},
		{"query=%7B__typename%7D;x=1", "the query string is malformed"},
	}
	for _, tt := range tests {
		want := answer{200, typeJSON, tt.want}
		if !strings.HasPrefix(tt.want, "{") {
			want = answer{400, typeJSON, `{"errors":[{"message":"` + tt.want + `","extensions":{"code":"BAD_USER_INPUT"}}]}`}
		}
		rec := send(h, http.MethodGet, "/graphql?"+tt.query, "")
		if got := (answer{rec.Code, rec.Header().Get("Content-Type"), rec.Body.String()}); got != want {
			t.Errorf("%s: got %v, want %v", tt.query, got, want)
		}
	}
}

// A number that a float64 can't hold arrives as it was sent.
func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	rec := post(h, `{"query":"query ($u: String!) { user(userId: $u) { userId } }","variables":{"u":9007199254740993}}`)
	if got, want := rec.Body.String(), `{"data":{"user":{"userId":"9007199254740993"}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

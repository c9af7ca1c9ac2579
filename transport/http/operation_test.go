package http_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler"

	"belfry/graph"
	gqlhttp "belfry/transport/http"
)

func TestWhichOperation(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const two = `"query":"query A { viewer { userId } } query B { __typename }"`
	const failed = `,"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`
	tests := []struct{ body, want string }{
		{`{` + two + `,"operationName":"A"}`, goodAnswer},
		{`{` + two + `,"operationName":"B"}`, `{"data":{"__typename":"Query"}}`},
		{`{` + two + `}`, `{"errors":[{"message":"the document has several operations: say which by operationName"` + failed},
		{`{` + two + `,"operationName":""}`, `{"errors":[{"message":"the document has several operations: say which by operationName"` + failed},
		{`{` + two + `,"operationName":"C"}`, `{"errors":[{"message":"the document has no operation of the name in operationName"` + failed},
		{`{"query":"fragment F on User { id }"}`, `{"errors":[{"message":"no operation provided"` + failed},
	}
	for _, tt := range tests {
		if got := post(h, tt.body).Body.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.body, got, tt.want)
		}
	}
}

// gqlgen would leave the deferred part out of the answer.
func TestDeferIsRefused(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	tests := []struct {
		query     string
		isRefused bool
	}{
		{`{ viewer { ... @defer { userId } } }`, true},
		{`{ viewer { ... on User @ defer { userId } } }`, true},
		{`{ viewer { ...F @defer(label: "x") } } fragment F on User { userId }`, true},
		{`{ ...Q } fragment Q on Query { viewer { ... @defer { userId } } }`, true},
		{`{ ... { viewer { ... { ... @defer { userId } } } } }`, true},
		{`mutation { updateSettings(input: {}) { ... @defer { userErrors { message } } } }`, true},
		{`{ defer: viewer { ...Defer } } fragment Defer on User { userId } # @defer`, false},
	}
	for _, tt := range tests {
		body, err := json.Marshal(map[string]string{"query": tt.query})
		if err != nil {
			t.Fatal(err)
		}
		got := post(h, string(body)).Body.String()
		if isRefused := strings.Contains(got, `"message":"@defer is not supported"`); isRefused != tt.isRefused {
			t.Errorf("%s: got %s", tt.query, got)
		}
	}
}

// A client hears what is wrong, and not again what it has sent.
func TestErrorsDoNotEcho(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	const secret = "s3cr3t-value"
	long := strings.Repeat("ä", 20_000)
	bodies := []string{
		`{"query":"{ __typename }","variables":{"a":"` + secret + `"}`,
		`{"query":["` + secret + `"]}`,
		`["` + secret + `"]`,
		secret,
		`{"query":"{ __typename }","variables":"` + secret + `"}`,
		`{"query":"{ __typename } query B { __typename }","operationName":"` + secret + `"}`,
		`{"query":"{ __typename }","operationName":"` + secret + `"}`,
		`{"query":"{ __typename }","extensions":{"` + secret + `":1}} ` + secret,
		`{"query":"query ($u: [String!]!) { users(userIds: $u) { id } }","variables":{"u":{"` + secret + `":"` + secret + `"}}}`,
		`{"query":"query ($i: UpdateSettingsInput!) { __typename }","variables":{"i":"` + secret + `"}}`,
	}
	for _, body := range bodies {
		if got := post(h, body).Body.String(); strings.Contains(got, secret) || !strings.HasPrefix(got, `{"errors":[`) {
			t.Errorf("%s: got %s", body, got)
		}
	}
	for _, query := range []string{"{ " + strings.Repeat("a", 50_000) + " }", `{ \"` + long + `\" }`, `{ user(userId: ` + strings.Repeat("1", 50_000) + "x) }"} {
		got := post(h, `{"query":"`+query+`"}`).Body.String()
		if len(got) > 2000 || !strings.HasPrefix(got, `{"errors":[`) {
			t.Errorf("%.20s: got %d bytes: %.300s", query, len(got), got)
		}
		if !json.Valid([]byte(got)) || strings.Contains(got, `�`) || strings.Contains(got, `\ufffd`) {
			t.Errorf("%.20s: cut within a character: %s", query, got)
		}
	}
}

// The engine alone has an error for each field.
func TestManyErrors(t *testing.T) {
	t.Parallel()
	h := handler.New(graph.NewExecutableSchema(graph.Config{Resolvers: stub{}}))
	h.AddTransport(gqlhttp.Transport{})
	body := `{"query":"{` + strings.Repeat(" xyzzy", 900) + `}"}`
	var got struct{ Errors []any }
	if err := json.Unmarshal(post(h, body).Body.Bytes(), &got); err != nil || len(got.Errors) != 100 {
		t.Errorf("got %d errors, %v, want 100", len(got.Errors), err)
	}
}

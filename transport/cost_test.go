package transport_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/google/go-cmp/cmp"

	"belfry/graph"
	"belfry/transport"
)

// prepare validates a document without any limits of ours.
func prepare(t testing.TB, query string, variables map[string]any) (*graphql.OperationContext, error) {
	t.Helper()
	e := executor.New(graph.NewExecutableSchema(graph.Config{}))
	oc, errs := e.CreateOperationContext(graphql.StartOperationTrace(t.Context()),
		&graphql.RawParams{Query: query, Variables: variables})
	if len(errs) > 0 {
		return nil, errs
	}
	return oc, nil
}

// variables decodes JSON as the transports do.
func variables(t testing.TB, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		t.Fatal(err)
	}
	return values
}

// list is the JSON of a list of n ids.
func list(n int) string { return `["x"` + strings.Repeat(`,"x"`, n-1) + `]` }

const usersQuery = `query ($ids: [String!]!) { users(userIds: $ids) { userId account { displayName }
	settings { theme preferences { category } } unreadCount
	notifications(first: 20) { edges { cursor node { id title actor { userId displayName } } }
		pageInfo { hasNextPage hasPreviousPage } } } }`

const dispatchMutation = `mutation ($input: DispatchInput!) { dispatch(input: $input) {
	results { recipient status notificationId } createdCount duplicateCount userErrors { code message field } } }`

func dispatchOf(recipients int) string {
	return `{"input": {"runId": "r", "kind": "k", "category": "c", "title": "t", "recipients": ` + list(recipients) + `}}`
}

// What operations cost. Each number can be told from the doc comment of scale.
func TestCost(t *testing.T) {
	t.Parallel()
	const page = `notifications%s { nodes { id } }`
	pageOf := func(arguments string) string { return strings.ReplaceAll(page, "%s", arguments) }
	introspection, err := os.ReadFile("testdata/introspection.graphql")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, query, variables string
		want                   int
	}{
		{"leaves", `{ __typename viewer { id userId __typename } }`, ``, 1},
		{"aliases", `{ viewer { a: id b: id } again: viewer { id } }`, ``, 1 + 2 + 1 + 1},
		{"objects", `{ viewer { account { id } settings { id } } }`, ``, 3},
		{"counts", `{ viewer { unreadCount unseenCount } }`, ``, 1 + 10 + 10},
		{"a page of the default size", `{ viewer { ` + pageOf(``) + ` } }`, ``, 1 + 1 + 20},
		{"a page without rows", `{ viewer { notifications(first: 100) { pageInfo { endCursor } } } }`, ``, 1 + 1 + 1},
		{"first", `{ viewer { ` + pageOf(`(first: 7)`) + ` } }`, ``, 1 + 1 + 7},
		{"last", `{ viewer { ` + pageOf(`(last: 7)`) + ` } }`, ``, 1 + 1 + 7},
		{"none", `{ viewer { ` + pageOf(`(first: 0)`) + ` } }`, ``, 1 + 1},
		{"null", `{ viewer { ` + pageOf(`(first: null, last: 3)`) + ` } }`, ``, 1 + 1 + 3},
		{"what is refused is the largest", `{ viewer { ` + pageOf(`(first: 2000000000)`) + ` } }`, ``, 1 + 1 + 100},
		{"negative too", `{ viewer { ` + pageOf(`(first: -1)`) + ` } }`, ``, 1 + 1 + 100},
		{"a variable", `query ($n: Int) { viewer { ` + pageOf(`(first: $n)`) + ` } }`, `{"n": 7}`, 1 + 1 + 7},
		{"a variable that is refused", `query ($n: Int) { viewer { ` + pageOf(`(first: $n)`) + ` } }`, `{"n": 2147483647}`, 1 + 1 + 100},
		{"a variable that is null", `query ($n: Int) { viewer { ` + pageOf(`(first: $n)`) + ` } }`, `{"n": null}`, 1 + 1 + 20},
		{"a variable that is absent", `query ($n: Int) { viewer { ` + pageOf(`(first: $n)`) + ` } }`, ``, 1 + 1 + 20},
		{"a variable's default", `query ($n: Int = 5) { viewer { ` + pageOf(`(first: $n)`) + ` } }`, ``, 1 + 1 + 5},
		{"edges, nodes and far ends", `{ viewer { notifications(first: 10) { edges { node { actor { userId } } } nodes { actor { userId } } pageInfo { endCursor } } } }`, ``,
			1 + 1 + 10*(1+1+1) + 10*(1+1) + 1},
		{"the largest page with everything", `{ viewer { id userId account { id } settings { preferences { category } } unreadCount unseenCount
			notifications(first: 100) { edges { node { id actor { userId } } } nodes { id actor { userId } } pageInfo { endCursor } } } }`, ``,
			1 + 1 + 1 + 10 + 10 + 10 + 1 + 100*3 + 100*2 + 1},
		{"fragments count where they are spread", `{ viewer { ...F ...F } } fragment F on User { account { id } }`, ``, 1 + 2},
		{"inline fragments", `{ viewer { ... on Node { ... on User { account { id } } } } }`, ``, 1 + 1},
		{"a fragment on pages of two sizes", `{ viewer { notifications(first: 3) { ...P } p: notifications(first: 50) { ...P } } }
			fragment P on NotificationConnection { nodes { id } pageInfo { endCursor } }`, ``, 1 + (1 + 3 + 1) + 1 + (1 + 50 + 1)},
		{"what is skipped counts", `query ($no: Boolean = false) { viewer { account @include(if: $no) { id } settings @skip(if: true) { id } } }`, ``, 3},
		{"all that may apply counts", `{ node(id: "x") { ... on User { account { id } } ... on Notification { actor { userId } } } }`, ``, 1 + 1 + 1},
		{"users", usersQuery, `{"ids": ` + list(100) + `}`, 100 * (1 + 1 + 1 + 10 + 10 + 1 + 20*3 + 1)},
		{"users of a literal", `{ users(userIds: ["a", "b"]) { id } }`, ``, 2},
		{"a list of one without brackets", `{ users(userIds: "a") { id } }`, ``, 1},
		{"a variable of one without brackets", `query ($ids: [String!]!) { users(userIds: $ids) { id } }`, `{"ids": "a"}`, 1},
		{"no users", `{ users(userIds: []) { account { id } } }`, ``, 0},
		{"nodes", `query ($a: ID!) { nodes(ids: [$a, $a, "x"]) { id } }`, `{"a": "x"}`, 3},
		{"two large pages of 100 users", `query ($ids: [String!]!) { users(userIds: $ids) { ` + pageOf(`(first: 100)`) + ` more: ` + pageOf(`(first: 100, filter: {status: READ})`) + ` } }`,
			`{"ids": ` + list(100) + `}`, 100 * (1 + 101 + 1 + 101)},
		{"dispatch", dispatchMutation, dispatchOf(10_000), 10 + 10_000 + 1 + 1},
		{"dispatch of a literal", `mutation { dispatch(input: {runId: "r", kind: "k", category: "c", title: "t", recipients: ["a", "b"]}) { createdCount } }`, ``, 10 + 2 + 1},
		{"marking", `mutation ($i: NotificationIdsInput!) { markNotificationsRead(input: $i) { notifications { id actor { userId } } changedIds user { unreadCount } } }`,
			`{"i": {"ids": ` + list(100) + `}}`, 10 + 100 + 1 + 100*2 + 1 + 10},
		{"marking with a variable inside", `mutation ($id: ID!) { markNotificationsRead(input: {ids: [$id]}) { notifications { id } } }`, `{"id": "x"}`, 10 + 1 + 1 + 1},
		{"marking with the list inside", `mutation ($ids: [ID!]!) { markNotificationsRead(input: {ids: $ids}) { notifications { id } } }`, `{"ids": ["x", "y"]}`, 10 + 2 + 1 + 2},
		{"mark all", `mutation { markAllNotificationsRead(input: {}) { changedCount } }`, ``, 1000 + 10 + 1 + 1},
		{"activities and items", `{ viewer { activities(first: 7) { edges { node { id } } } items(tag: "x", last: 3) { nodes { tags } } } }`, ``,
			1 + (1 + 7*2) + (1 + 3)},
		{"an item with its tags", `mutation ($i: PutItemInput!) { putItem(input: $i) { itemEdge { node { id } } } }`,
			`{"i": {"userId": "u", "itemId": "i", "title": "t", "tags": ` + list(50) + `}}`, 10 + 50 + 1 + 2},
		{"an activity", `mutation { recordActivity(input: {userId: "u", verb: "v"}) { activityEdge { node { id } } } }`, ``, 10 + 1 + 1 + 2},
		{"settings", `mutation { updateSettings(input: {theme: DARK}) { settings { theme } } }`, ``, 10 + 1 + 1 + 1},
		{"an event of an inbox", `subscription { inboxChanged { user { unreadCount } ... on NotificationCreated { notificationEdge { node { id } } } ... on NotificationsUpdated { notifications { id } } } }`, ``,
			1 + 1 + 10 + 2 + 100},
		{"a type", `{ __type(name: "User") { name ofType { ofType { name } } fields { name } } }`, ``, 500 + 1 + 6},
		{"introspection as graphql-js does it", string(introspection), ``, 8000 + 2014},
		{"sums stop growing", chain(40, `account { id }`), ``, 1<<31 - 1},
	}
	for _, tt := range tests {
		oc, err := prepare(t, tt.query, variables(t, tt.variables))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, steps := transport.CostOf(oc)
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
		if steps > transport.MaxTokens {
			t.Errorf("%s: %d steps", tt.name, steps)
		}
	}
}

// A list whose size is not known counts as the largest page, which is most likely wrong: give it a row.
func TestScaleKnowsTheSchema(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	for name, got := range map[string][]string{
		"lists without a size": transport.Unsized(schema), "not in the schema": transport.Unknown(schema),
	} {
		slices.Sort(got)
		if diff := cmp.Diff([]string(nil), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTooDearOperations(t *testing.T) {
	t.Parallel()
	h := newStubAPI(t)
	const twice = `query ($ids: [String!]!) { users(userIds: $ids) {
		a: notifications(first: 100) { nodes { id } } b: notifications(first: 100) { nodes { id } } } }`
	tests := []struct {
		name, query, variables, want string
	}{
		{"two large pages of 100 users", twice, `{"ids": ` + list(100) + `}`, "the operation costs 20500, more than 15000"},
		{"of 70 users", twice, `{"ids": ` + list(70) + `}`, ""},
		{"the documented use", usersQuery, `{"ids": ` + list(100) + `}`, ""},
		{"a large dispatch", dispatchMutation, dispatchOf(10_000), ""},
		{"two large dispatches", `mutation ($input: DispatchInput!) { a: dispatch(input: $input) { createdCount } b: dispatch(input: $input) { createdCount } }`,
			dispatchOf(10_000), "the operation costs 20024, more than 15000"},
	}
	for _, tt := range tests {
		rec := post(t.Context(), h, strings.NewReader(body(t, tt.query, variables(t, tt.variables), nil)))
		got := ""
		if errs := errorsOf(t, rec); len(errs) > 0 && errs[0].Extensions["code"] == tooComplex {
			got = errs[0].Message
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q: %.200s", tt.name, got, tt.want, rec.Body)
		}
	}
}

func TestCostIsToldOnRequest(t *testing.T) {
	t.Parallel()
	h := newStubAPI(t)
	const dear = `{ viewer { ...F ...F } } fragment F on User { ...G ...G } fragment G on User { ...H ...H ...H ...H }
		fragment H on User { notifications(first: 100) { edges { node { actor { userId } } } nodes { actor { userId } } pageInfo { endCursor } } }`
	limit := float64(transport.MaxCost)
	tests := []struct {
		name, query string
		extensions  map[string]any
		want        any
	}{
		{"asked", `{ viewer { id } }`, map[string]any{"cost": true}, map[string]any{"requested": 1.0, "limit": limit}},
		{"of what is refused", dear, map[string]any{"cost": true}, map[string]any{"requested": 1 + 16*502.0, "limit": limit}},
		{"not asked", `{ viewer { id } }`, nil, nil},
		{"asked not to", `{ viewer { id } }`, map[string]any{"cost": false}, nil},
		{"of what is invalid", `{ nobody }`, map[string]any{"cost": true}, nil},
	}
	for _, tt := range tests {
		rec := post(t.Context(), h, strings.NewReader(body(t, tt.query, nil, tt.extensions)))
		var answer struct{ Extensions map[string]any }
		if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, answer.Extensions["cost"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWhatMayNotBeSelected(t *testing.T) {
	t.Parallel()
	off, _ := newHandler(t, nil, false)
	on := newStubAPI(t)
	const (
		noIntrospection = "introspection is switched off on this server"
		noConnection    = "notifications can't be selected in a subscription: it would be read anew for every event; query it"
	)
	tests := []struct {
		name, query, off, on string
	}{
		{"__schema", `{ __schema { types { name } } }`, noIntrospection, ""},
		{"__type", `{ __type(name: "User") { name } }`, noIntrospection, ""},
		{"in a fragment", `{ ...F } fragment F on Query { a: __type(name: "User") { name } }`, noIntrospection, ""},
		{"__typename", `{ __typename }`, "", ""},
		{"a connection", `subscription { badgeChanged { user { notifications { nodes { id } } } } }`, noConnection, noConnection},
		{"in a fragment of a subscription", `subscription { inboxChanged { ... on InboxSnapshot { user { ...F } } } }
			fragment F on User { n: notifications { pageInfo { endCursor } } }`, noConnection, noConnection},
	}
	for _, tt := range tests {
		for name, side := range map[string]struct {
			extension bool
			want      string
		}{"off": {false, tt.off}, "on": {true, tt.on}} {
			h := off
			if side.extension {
				h = on
			}
			req := post(t.Context(), h, strings.NewReader(body(t, tt.query, nil, nil)))
			got := ""
			if errs := errorsOf(t, req); len(errs) > 0 {
				got = errs[0].Message
				if errs[0].Extensions["code"] != validationFailed {
					t.Errorf("%s, introspection %s: got %v", tt.name, name, errs[0])
				}
			}
			if got != side.want {
				t.Errorf("%s, introspection %s: got %q, want %q", tt.name, name, got, side.want)
			}
		}
	}
}

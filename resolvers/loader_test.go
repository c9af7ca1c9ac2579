package resolvers_test

import (
	"fmt"
	"testing"
	"time"

	"belfry/inbox"
)

// What does not depend on one another travels together.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.dispatch("ada", map[string]any{"runId": "r", "actor": "bob"})
	a.dispatch("bob", map[string]any{"runId": "r"})
	tests := []struct {
		query string
		want  int
	}{
		{`{ viewer { userId } }`, 0},
		{`{ viewer { unreadCount } }`, 1},
		{`{ viewer { unreadCount unseenCount countedAt notifications { nodes { title } } } }`, 1},
		{`{ viewer { account { email } settings { theme } unreadCount devices { id }
		    notifications { nodes { title } pageInfo { hasPreviousPage } }
		    read: notifications(filter: {status: READ}) { nodes { title } } } }`, 1},
		{`{ viewer { ...on Node { ...on User { unreadCount } } devices @skip(if: true) { id } settings { theme } } }`, 1},
		{`{ user(userId: "ada") { notifications { nodes { actor { displayName } } } unreadCount } }`, 2},
		{`{ viewer { settings { preferences { category } } unreadCount } }`, 1},
		{`{ viewer { a: settings { theme } b: settings { preferences { category } } account { email } } }`, 1},
		{`{ users(userIds: ["ada", "bob"]) { settings { theme ...on Settings { preferences { category } } } unreadCount } }`, 1},
		{`{ users(userIds: ["ada", "bob", "ada", "zoe"]) { account { email } settings { theme } unreadCount notifications { nodes { title } } devices { id } } }`, 1},
		{`{ a: user(userId: "ada") { unreadCount devices { id } } b: user(userId: "bob") { unreadCount } }`, 2},
		{`mutation { markNotificationsSeen(input: {}) { user { unreadCount unseenCount notifications { nodes { id } } } again: user { devices { id } unreadCount } } }`, 3},
	}
	for _, tt := range tests {
		a.statements.reset()
		if got := a.ask(backend(), tt.query, nil); len(got.Errors) > 0 {
			t.Errorf("%s: %+v", tt.query, got.Errors)
		}
		if got := a.statements.roundTrips(); got != tt.want {
			t.Errorf("%s: got %d round trips, want %d", tt.query, got, tt.want)
		}
	}
}

// A read that is refused keeps the others from leaving no longer than it takes to refuse it: 60 times a
// second would be a minute.
func TestRefusedReadsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	began := time.Now()
	for n := range 60 {
		got := a.ask(as("ada"), fmt.Sprintf(`{ viewer { unreadCount
			notifications(after: "no cursor %d") { nodes { id } }
			many: notifications(first: 1000) { nodes { id } }
			bad: notifications(filter: {categories: ["\u0000"]}) { nodes { id } } } }`, n), nil)
		if len(got.Errors) != 3 {
			t.Fatalf("got %+v, want 3 errors", got.Errors)
		}
	}
	a.ask(as("backend", inbox.ScopeAdmin), putAccountMutation, map[string]any{"input": map[string]any{"userId": "ada", "displayName": "Ada"}})
	const forbidden = `mutation { putAccount(input: {userId: "ada", displayName: "Ada"}) {
	  user { account { id } settings { theme } unreadCount devices { id } notifications { nodes { id } } } } }`
	for range 60 {
		if got := a.ask(as("backend", inbox.ScopeAdmin), forbidden, nil); len(got.Errors) == 0 {
			t.Fatal("got no error, want FORBIDDEN")
		}
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("took %s", took)
	}
}

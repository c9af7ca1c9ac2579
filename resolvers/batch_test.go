package resolvers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

const usersQuery = `query ($ids: [String!]!) {
  users(userIds: $ids) {
    userId
    account { displayName }
    settings { theme preferences { category } }
    unreadCount
    notifications(first: 20) {
      edges { cursor node { id title actor { userId displayName } } }
      pageInfo { hasNextPage hasPreviousPage }
    }
  }
}`

// The number of statements must not depend on the number of users.
func TestUsersCostBoundedStatements(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprintf("user-%d", i)
	}
	for n := range 25 {
		a.must(backend(), dispatchMutation, map[string]any{"input": map[string]any{
			"runId": fmt.Sprintf("run-%d", n), "kind": "comment", "category": "reviews", "recipients": ids,
			"title": "hello", "actor": ids[n],
		}}, nil)
	}
	for _, id := range ids[:10] {
		a.must(backend(), putAccountMutation, map[string]any{"input": map[string]any{
			"userId": id, "displayName": "Name of " + id,
		}}, nil)
	}
	want := []string{"Accounts", "AccountsAndSettings", "FeedPages", "Preferences", "UnreadCounts"}
	for _, count := range []int{2, 10, 100} {
		a.statements.reset()
		var data struct {
			Users []struct {
				UserID        string
				Account       *struct{ DisplayName string }
				UnreadCount   int
				Notifications struct {
					Edges []struct {
						Node struct {
							Actor struct{ UserID, DisplayName string }
						}
					}
					PageInfo struct{ HasNextPage, HasPreviousPage bool }
				}
			}
		}
		a.must(backend(), usersQuery, map[string]any{"ids": ids[:count]}, &data)
		got := a.statements.reset()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statements for %d users (-want +got):\n%s", count, diff)
		}
		for i, u := range data.Users {
			if u.UserID != ids[i] || u.UnreadCount != 25 || len(u.Notifications.Edges) != 20 || !u.Notifications.PageInfo.HasNextPage {
				t.Fatalf("user %d of %d: got %+v", i, count, u)
			}
			if hasAccount := u.Account != nil; hasAccount != (i < 10) {
				t.Errorf("user %d: has an account: got %t", i, hasAccount)
			}
			actor := u.Notifications.Edges[19].Node.Actor
			if want := "Name of " + actor.UserID; actor.DisplayName != want {
				t.Errorf("actor's name: got %q, want %q", actor.DisplayName, want)
			}
		}
	}
}

// One user costs the same, and a far side that is asked for costs one statement more.
func TestViewerCostsFewStatements(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.must(backend(), dispatchMutation, map[string]any{"input": map[string]any{
		"runId": "r", "kind": "comment", "category": "reviews", "recipients": []string{"ada"}, "title": "hello",
	}}, nil)
	var page struct {
		Viewer struct {
			Notifications struct{ PageInfo struct{ EndCursor string } }
		}
	}
	a.must(as("ada"), `{ viewer { notifications { pageInfo { endCursor } } } }`, nil, &page)
	after := page.Viewer.Notifications.PageInfo.EndCursor
	tests := []struct {
		name, fields string
		want         []string
	}{
		{"account alone", `account { email }`, []string{"Accounts"}},
		{"settings alone", `settings { theme }`, []string{"Settings"}},
		{"account and settings", `account { email } settings { theme }`, []string{"AccountsAndSettings"}},
		{"account and settings through a fragment", `...on Node { ...on User { account { email } } } settings { theme }`,
			[]string{"AccountsAndSettings"}},
		{"unread", `unreadCount`, []string{"UnreadCounts"}},
		{"unread and unseen", `unreadCount unseenCount`, []string{"Badges"}},
		{"unread twice", `unreadCount again: unreadCount`, []string{"UnreadCounts"}},
		{"a page", `notifications { nodes { title actor { userId } } }`, []string{"FeedPage"}},
		{"two pages", `notifications { nodes { title } } more: notifications(first: 1) { nodes { title } }`,
			[]string{"FeedPage", "FeedPage"}},
		{"a page with what lies before it", `notifications(after: "` + after + `") { pageInfo { hasNextPage hasPreviousPage } }`,
			[]string{"FeedPage", "FeedPageBackward"}},
		{"a page that does not ask", `notifications(after: "` + after + `") { pageInfo { hasNextPage } }`, []string{"FeedPage"}},
		{"nothing", `userId`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a.statements.reset()
			got := a.ask(as("ada"), `{ viewer { `+tt.fields+` } }`, nil)
			if len(got.Errors) > 0 {
				t.Fatal(got.Errors)
			}
			statements := a.statements.reset()
			slices.Sort(statements)
			if diff := cmp.Diff(tt.want, statements); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesCostBoundedStatements(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var ids []string
	for n := range 24 {
		user := fmt.Sprintf("user-%d", n)
		id := a.dispatch(user, map[string]any{"runId": "r", "actor": "ada"})
		ids = append(ids, id,
			inbox.NodeID{Kind: inbox.KindUser, UserID: user}.String(),
			inbox.NodeID{Kind: inbox.KindAccount, UserID: user}.String(),
			inbox.NodeID{Kind: inbox.KindSettings, UserID: user}.String())
	}
	const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id
	  ...on Notification { actor { displayName } } ...on User { unreadCount settings { preferences { category } } }
	  ...on Settings { preferences { category } } } }`
	a.statements.reset()
	var data struct {
		Nodes []*struct {
			ID string
		}
	}
	a.must(backend(), query, map[string]any{"ids": ids}, &data)
	got := a.statements.reset()
	slices.Sort(got)
	want := []string{"Accounts", "Accounts", "NotificationsByKey", "Preferences", "Preferences", "Settings", "Settings", "UnreadCounts"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	for i, n := range data.Nodes {
		isAccount := i%4 == 2 // nobody has one
		if isAccount != (n == nil) || n != nil && n.ID != ids[i] {
			t.Errorf("node %d: got %+v for %s", i, n, ids[i])
		}
	}
}

// Two mutations in one request each answer with what they left, not with what the first one's payload
// has read.
func TestPayloadsOfOneRequestDoNotShareReads(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first := a.dispatch("ada", map[string]any{"runId": "1"})
	second := a.dispatch("ada", map[string]any{"runId": "2"})
	got := a.ask(as("ada"), `mutation ($a: ID!, $b: ID!) {
	  a: markNotificationsRead(input: {ids: [$a]}) { user { unreadCount } }
	  b: markNotificationsRead(input: {ids: [$b]}) { user { unreadCount } }
	}`, map[string]any{"a": first, "b": second})
	want := `{"a":{"user":{"unreadCount":1}},"b":{"user":{"unreadCount":0}}}`
	if diff := cmp.Diff(want, string(got.Data)); diff != "" || len(got.Errors) > 0 {
		t.Errorf("(-want +got):\n%s\n%v", diff, got.Errors)
	}
}

const (
	dispatchMutation = `mutation ($input: DispatchInput!) { dispatch(input: $input) {
	  results { recipient status notificationId } createdCount duplicateCount userErrors { code message field } } }`
	putAccountMutation = `mutation ($input: PutAccountInput!) { putAccount(input: $input) {
	  user { userId account { id displayName email avatarUrl createdAt } } userErrors { code message field } } }`
)

// dispatched is the answer of dispatchMutation.
type dispatched struct {
	Dispatch struct {
		Results []struct {
			Recipient, Status string
			NotificationID    *string
		}
		CreatedCount, DuplicateCount int
		UserErrors                   []userError
	}
}

type userError struct {
	Code, Message string
	Field         []string
}

// dispatch sends an event to one user, with what input says and defaults for the rest, and returns the
// notification's id.
func (a *api) dispatch(user string, input map[string]any) string {
	a.t.Helper()
	full := map[string]any{"kind": "comment", "category": "reviews", "title": "A title", "recipients": []string{user}}
	for k, v := range input {
		full[k] = v
	}
	var data dispatched
	a.must(backend(), dispatchMutation, map[string]any{"input": full}, &data)
	if len(data.Dispatch.UserErrors) > 0 || data.Dispatch.Results[0].NotificationID == nil {
		text, _ := json.Marshal(data)
		a.t.Fatalf("dispatch: %s", text)
	}
	return *data.Dispatch.Results[0].NotificationID
}

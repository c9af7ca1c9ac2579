package resolvers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// quoted returns a string as JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// canonical returns JSON with its numbers as written and its members in order.
func canonical(t *testing.T, text string) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func withCaller(t *testing.T, caller inbox.Caller) context.Context {
	t.Helper()
	return inbox.WithCaller(t.Context(), caller, nil)
}

func viewerID(a *api, user string) string {
	a.t.Helper()
	var data struct{ Viewer struct{ ID string } }
	a.must(as(user), `{ viewer { id } }`, nil, &data)
	return data.Viewer.ID
}

// Another user's object reads exactly like one that does not exist.
func TestOthersReadAsAbsent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mine := a.dispatch("ada", map[string]any{"runId": "r"})
	theirs := a.dispatch("bela", map[string]any{"runId": "r"})
	a.must(backend(), putAccountMutation, map[string]any{"input": map[string]any{"userId": "bela", "displayName": "Bela"}}, nil)
	gone := a.dispatch("ada", map[string]any{"runId": "gone"})
	a.must(as("ada"), `mutation ($id: ID!) { deleteNotifications(input: {ids: [$id]}) { deletedIds } }`, map[string]any{"id": gone}, nil)

	for _, kind := range []inbox.Kind{inbox.KindUser, inbox.KindAccount, inbox.KindSettings} {
		id := inbox.NodeID{Kind: kind, UserID: "bela"}.String()
		if got := string(a.ask(as("ada"), `query ($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": id}).Data); got != `{"node":null}` {
			t.Errorf("node %s: got %s, want null", id, got)
		}
	}
	absent := a.ask(as("ada"), `query ($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": gone})
	foreign := a.ask(as("ada"), `query ($id: ID!) { node(id: $id) { id } }`, map[string]any{"id": theirs})
	if diff := cmp.Diff(absent, foreign); diff != "" || string(absent.Data) != `{"node":null}` {
		t.Errorf("an absent and a foreign node differ, or are not null (-absent +foreign):\n%s", diff)
	}

	got := string(a.ask(as("ada"), `query ($ids: [ID!]!) { nodes(ids: $ids) { id } }`,
		map[string]any{"ids": []string{theirs, mine, "garbage", gone}}).Data)
	if want := `{"nodes":[null,{"id":"` + mine + `"},null,null]}`; got != want {
		t.Errorf("nodes: got %s, want %s", got, want)
	}
	got = string(a.ask(as("ada"), `{ user(userId: "bela") { id } me: user(userId: "ada") { userId }
	  users(userIds: ["bela", "ada", "", "ada"]) { userId } }`, nil).Data)
	if want := `{"user":null,"me":{"userId":"ada"},"users":[null,{"userId":"ada"},null,{"userId":"ada"}]}`; got != want {
		t.Errorf("users: got %s, want %s", got, want)
	}
	for _, mutation := range []string{"markNotificationsRead", "archiveNotifications", "markNotificationsUnread", "unarchiveNotifications"} {
		got = string(a.ask(as("ada"), `mutation ($ids: [ID!]!) { `+mutation+`(input: {ids: $ids}) {
		  notifications { id } changedIds userErrors { code } } }`, map[string]any{"ids": []string{theirs, gone}}).Data)
		if want := `{"` + mutation + `":{"notifications":[],"changedIds":[],"userErrors":[]}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	got = string(a.ask(as("ada"), `mutation ($ids: [ID!]!) { deleteNotifications(input: {ids: $ids}) { deletedIds userErrors { code } } }`,
		map[string]any{"ids": []string{theirs, gone}}).Data)
	if want := `{"deleteNotifications":{"deletedIds":[],"userErrors":[]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = string(a.ask(as("bela"), `{ viewer { unreadCount notifications { nodes { id } } } }`, nil).Data)
	if want := `{"viewer":{"unreadCount":1,"notifications":{"nodes":[{"id":"` + theirs + `"}]}}}`; got != want {
		t.Errorf("bela's feed: got %s, want %s", got, want)
	}
}

// A cursor names no user: with another's token it pages that one's own feed.
func TestACursorOpensNobodyElsesFeed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.dispatch("bela", map[string]any{"runId": "1", "title": "secret"})
	a.dispatch("bela", map[string]any{"runId": "2", "title": "secret"})
	var page struct {
		Viewer struct {
			Notifications struct{ PageInfo struct{ EndCursor string } }
		}
	}
	a.must(as("bela"), `{ viewer { notifications(first: 1) { pageInfo { endCursor } } } }`, nil, &page)
	got := string(a.post(as("ada"), `query ($c: String) { viewer { notifications(after: $c) { nodes { title } } } }`,
		map[string]any{"c": page.Viewer.Notifications.PageInfo.EndCursor}))
	if want := `{"data":{"viewer":{"notifications":{"nodes":[]}}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A token that may write accounts does not open inboxes through a payload.
func TestAdminReadsNoInbox(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.dispatch("ada", map[string]any{"runId": "r"})
	admin := as("backend", inbox.ScopeAdmin)
	for _, field := range []string{"unreadCount", "unseenCount", "notifications { nodes { id } }", "activities { nodes { id } }", "items { nodes { id } }", "settings { theme }"} {
		got := a.ask(admin, `mutation { putAccount(input: {userId: "ada", displayName: "Ada"}) { user { account { displayName } `+field+` } } }`, nil)
		if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "FORBIDDEN" || strings.Contains(string(got.Data), "unread") {
			t.Errorf("%s: got %s and %+v, want FORBIDDEN", field, got.Data, got.Errors)
		}
	}
	got := a.ask(admin, `mutation { putAccount(input: {userId: "ada", displayName: "Ada"}) { user { account { displayName } } } }`, nil)
	if want := `{"putAccount":{"user":{"account":{"displayName":"Ada"}}}}`; string(got.Data) != want {
		t.Errorf("got %s, want %s", got.Data, want)
	}
}

// Each field says what its caller lacks.
func TestCallersWithoutPermission(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const (
		dispatch = `mutation { dispatch(input: {runId: "r", kind: "k", category: "c", title: "t", recipients: ["ada"]}) { createdCount } }`
		account  = `mutation { putAccount(input: {userId: "ada", displayName: "Ada"}) { user { id } } }`
		activity = `mutation { recordActivity(input: {userId: "ada", verb: "v"}) { activityEdge { cursor } } }`
		item     = `mutation { putItem(input: {userId: "ada", itemId: "i", title: "t", tags: ["a"]}) { itemEdge { cursor } } }`
		deletion = `mutation { deleteItem(input: {id: "x"}) { deletedId } }`
	)
	operations := map[string]string{
		"viewer": `{ viewer { id } }`, "user": `{ user(userId: "ada") { id } }`, "users": `{ users(userIds: []) { id } }`,
		"node": `{ node(id: "x") { id } }`, "nodes": `{ nodes(ids: []) { id } }`, "dispatch": dispatch, "putAccount": account,
		"recordActivity": activity, "putItem": item, "deleteItem": deletion,
		"markNotificationsRead":    `mutation { markNotificationsRead(input: {ids: ["x"]}) { changedIds } }`,
		"markNotificationsUnread":  `mutation { markNotificationsUnread(input: {ids: ["x"]}) { changedIds } }`,
		"archiveNotifications":     `mutation { archiveNotifications(input: {ids: ["x"]}) { changedIds } }`,
		"unarchiveNotifications":   `mutation { unarchiveNotifications(input: {ids: ["x"]}) { changedIds } }`,
		"deleteNotifications":      `mutation { deleteNotifications(input: {ids: ["x"]}) { deletedIds } }`,
		"markAllNotificationsRead": `mutation { markAllNotificationsRead(input: {}) { changedCount } }`,
		"markNotificationsSeen":    `mutation { markNotificationsSeen(input: {}) { user { id } } }`,
		"updateSettings":           `mutation { updateSettings(input: {}) { settings { id } } }`,
		"setPreference":            `mutation { setPreference(input: {category: "c", channel: PUSH, enabled: true}) { settings { id } } }`,
	}
	for name, query := range operations {
		body := []byte(`{"query":` + quoted(query) + `}`)
		for _, ctx := range []context.Context{
			t.Context(), inbox.WithCaller(t.Context(), inbox.Caller{}, inbox.Errorf(inbox.Unauthenticated, "the token has expired")),
		} {
			var got answer
			if err := json.Unmarshal(a.send(ctx, body).Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "UNAUTHENTICATED" {
				t.Errorf("%s without a caller: got %s and %+v, want UNAUTHENTICATED", name, got.Data, got.Errors)
			}
		}
	}
	for _, query := range []string{dispatch, account, activity, item, deletion} {
		got := a.ask(as("ada", inbox.ScopeRead), query, nil)
		if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "FORBIDDEN" {
			t.Errorf("without the scope: got %s and %+v, want FORBIDDEN", got.Data, got.Errors)
		}
	}
}

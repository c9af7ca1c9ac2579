package resolvers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

const (
	recordMutation = `mutation ($input: RecordActivityInput!) { recordActivity(input: $input) {
	  activityEdge { cursor node { id } } userErrors { code field } } }`
	putItemMutation = `mutation ($input: PutItemInput!) { putItem(input: $input) {
	  itemEdge { cursor node { id tags } } userErrors { code field } } }`
)

// written is the answer of recordMutation and of putItemMutation.
type written struct {
	Edge *struct {
		Cursor string
		Node   struct {
			ID   string
			Tags []string
		}
	}
	UserErrors []userError
}

// write sends one of the two.
func (a *api) write(mutation string, input map[string]any) written {
	a.t.Helper()
	var data struct {
		RecordActivity, PutItem *struct {
			ActivityEdge, ItemEdge json.RawMessage
			UserErrors             []userError
		}
	}
	a.must(backend(), mutation, map[string]any{"input": input}, &data)
	payload, edge := data.RecordActivity, json.RawMessage(nil)
	if payload != nil {
		edge = payload.ActivityEdge
	} else {
		payload = data.PutItem
		edge = payload.ItemEdge
	}
	w := written{UserErrors: payload.UserErrors}
	if err := json.Unmarshal(edge, &w.Edge); err != nil {
		a.t.Fatal(err)
	}
	return w
}

func (a *api) record(user, verb string) string {
	a.t.Helper()
	return a.write(recordMutation, map[string]any{"userId": user, "verb": verb}).Edge.Node.ID
}

func (a *api) putItem(user, itemID string, tags ...string) string {
	a.t.Helper()
	return a.write(putItemMutation, map[string]any{"userId": user, "itemId": itemID, "title": itemID, "tags": tags}).Edge.Node.ID
}

// The number of statements must not depend on the number of users.
func TestListsCostBoundedStatements(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = fmt.Sprintf("user-%d", i)
		for n := range 3 {
			a.record(ids[i], fmt.Sprint("verb ", n))
			a.putItem(ids[i], fmt.Sprint("item ", n), "x", fmt.Sprint("tag ", n))
		}
	}
	const query = `query ($ids: [String!]!) { users(userIds: $ids) {
	  userId account { displayName } settings { theme }
	  activities(first: 10) { edges { cursor node { id verb } } pageInfo { hasNextPage } }
	  items(tag: "x", first: 2) { nodes { itemId tags } pageInfo { hasNextPage } }
	  all: items(first: 10) { nodes { title } } } }`
	want := []string{"AccountsAndSettings", "ActivityPages", "ItemPages", "TaggedItemPages"}
	for _, count := range []int{2, 10, 100} {
		a.statements.reset()
		var data struct {
			Users []struct {
				UserID     string
				Activities struct {
					Edges []struct {
						Node struct{ Verb string }
					}
				}
				Items struct {
					Nodes []struct {
						ItemID string
						Tags   []string
					}
					PageInfo struct{ HasNextPage bool }
				}
				All struct{ Nodes []struct{ Title string } }
			}
		}
		a.must(backend(), query, map[string]any{"ids": ids[:count]}, &data)
		got := a.statements.reset()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statements for %d users (-want +got):\n%s", count, diff)
		}
		for i, u := range data.Users {
			if u.UserID != ids[i] || len(u.Activities.Edges) != 3 || u.Activities.Edges[0].Node.Verb != "verb 2" ||
				len(u.Items.Nodes) != 2 || u.Items.Nodes[0].ItemID != "item 2" || !u.Items.PageInfo.HasNextPage || len(u.All.Nodes) != 3 {
				t.Fatalf("user %d of %d: got %+v", i, count, u)
			}
		}
	}
}

// Nodes of the two kinds are read by one statement each, and others' are null like those that are gone.
func TestActivitiesAndItemsAsNodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var ids []string
	for n := range 10 {
		ids = append(ids, a.record("ada", "verb"), a.putItem("ada", fmt.Sprint(n), "x"))
	}
	foreign := []string{a.record("bela", "verb"), a.putItem("bela", "0", "x")}
	absent := []string{
		inbox.NodeID{Kind: inbox.KindActivity, UserID: "ada"}.String(), inbox.NodeID{Kind: inbox.KindItem, UserID: "ada"}.String(),
	}
	a.statements.reset()
	var data struct{ Nodes []*struct{ ID string } }
	a.must(as("ada"), `query ($ids: [ID!]!) { nodes(ids: $ids) { id } }`,
		map[string]any{"ids": slices.Concat(foreign, ids, absent)}, &data)
	if diff := cmp.Diff([]string{"ActivitiesByKey", "ItemsByKey"}, a.statements.reset()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	for i, n := range data.Nodes {
		if isOwn := i >= 2 && i < 22; isOwn != (n != nil) || n != nil && n.ID != ids[i-2] {
			t.Errorf("node %d: got %+v", i, n)
		}
	}
}

// The arguments of every connection are checked alike, and its far side is looked at where it is asked for.
func TestListArguments(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	activity := a.write(recordMutation, map[string]any{"userId": "ada", "verb": "verb"}).Edge.Cursor
	item := a.write(putItemMutation, map[string]any{"userId": "ada", "itemId": "1", "title": "1", "tags": []string{"x"}}).Edge.Cursor
	for _, list := range []struct{ field, tag, cursor, statement string }{
		{"activities", "", activity, "ActivityPage"},
		{"items", "", item, "ItemPage"},
		{"items", `tag: "x", `, item, "TaggedItemPage"},
	} {
		for arguments, argument := range map[string]string{
			`first: -1`: "first", `first: 101`: "first", `last: -1`: "last", `first: 1, last: 1`: "last", `after: "garbage"`: "after", `before: "MjA"`: "before",
		} {
			got := a.ask(as("ada"), `{ viewer { `+list.field+`(`+list.tag+arguments+`) { nodes { id } } } }`, nil)
			if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "BAD_USER_INPUT" || got.Errors[0].Extensions.Argument != argument {
				t.Errorf("%s(%s%s): got %+v, want BAD_USER_INPUT of %s", list.field, list.tag, arguments, got.Errors, argument)
			}
		}
		for selection, want := range map[string][]string{
			"hasNextPage": {list.statement}, "hasPreviousPage": {list.statement, list.statement + "Backward"},
		} {
			a.statements.reset()
			a.must(as("ada"), `{ viewer { `+list.field+`(`+list.tag+`after: "`+list.cursor+`") { pageInfo { `+selection+` } } } }`, nil, nil)
			if diff := cmp.Diff(want, a.statements.reset()); diff != "" {
				t.Errorf("%s(%s): statements (-want +got):\n%s", list.field, list.tag, diff)
			}
		}
	}
	if got := a.ask(as("ada"), `{ viewer { items(tag: null, after: "", before: null) { nodes { itemId } } } }`, nil); string(got.Data) !=
		`{"viewer":{"items":{"nodes":[{"itemId":"1"}]}}}` {
		t.Errorf("null and empty: got %s, %+v", got.Data, got.Errors)
	}
}

func TestItemsRefuseBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, tt := range map[string]struct {
		input map[string]any
		want  []userError
	}{
		"no tags":                      {map[string]any{"tags": []string{}}, invalid("tags")},
		"51 tags":                      {map[string]any{"tags": many}, large("tags")},
		"an empty tag":                 {map[string]any{"tags": []string{"a", "b", "c", ""}}, invalid("tags.3")},
		"a tag of white space":         {map[string]any{"tags": []string{"\u00a0\u3000"}}, invalid("tags.0")},
		"a tag of 10 KB":               {map[string]any{"tags": []string{strings.Repeat("x", 10_000)}}, large("tags.0")},
		"a tag of 65 characters":       {map[string]any{"tags": []string{strings.Repeat("é", 65)}}, large("tags.0")},
		"a control character in a tag": {map[string]any{"tags": []string{"a", "b\x00"}}, invalid("tags.1")},
		"an empty itemId":              {map[string]any{"itemId": ""}, invalid("itemId")},
		"an itemId of 129 bytes":       {map[string]any{"itemId": strings.Repeat("x", 129)}, large("itemId")},
		"several faults":               {map[string]any{"title": "", "tags": []string{"a", ""}}, append(invalid("title"), invalid("tags.1")...)},
	} {
		input := map[string]any{"userId": "ada", "itemId": "1", "title": "One", "tags": []string{"a"}}
		for k, v := range tt.input {
			input[k] = v
		}
		got := a.write(putItemMutation, input)
		if diff := cmp.Diff(tt.want, got.UserErrors); diff != "" || got.Edge != nil {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := string(a.ask(as("ada"), `{ viewer { items { nodes { id } } } }`, nil).Data); got != `{"viewer":{"items":{"nodes":[]}}}` {
		t.Errorf("something was written: %s", got)
	}
	// 51 that are 50, and 64 characters after normalisation that are 128 before.
	decomposed := strings.Repeat("e\u0301", 64)
	got := a.write(putItemMutation, map[string]any{
		"userId": "ada", "itemId": "1", "title": "One", "tags": append(many[:49:49], decomposed, "\t"+strings.Repeat("é", 64)+"\u2003"),
	})
	if len(got.UserErrors) > 0 || len(got.Edge.Node.Tags) != 50 || got.Edge.Node.Tags[49] != strings.Repeat("é", 64) {
		t.Errorf("the largest: got %+v", got)
	}
}

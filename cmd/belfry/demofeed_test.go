package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// node is what these tests look at of a notification.
type node struct {
	ID, Kind, Title, CreatedAt string
	URL, ReadAt                *string
	Actor                      *struct{ UserID, DisplayName string }
}

// edge is a node and its place.
type edge struct {
	Cursor string
	Node   node
}

const feedQuery = `query ($user: String!, $first: Int, $after: String, $last: Int, $before: String) {
  user(userId: $user) { notifications(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { id kind title url createdAt readAt actor { userId displayName } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } } }`

// page is an answer to feedQuery.
type page struct {
	User struct {
		Notifications struct {
			Edges    []edge
			PageInfo struct {
				HasNextPage, HasPreviousPage bool
				StartCursor, EndCursor       *string
			}
		}
	}
}

// walkForward reads a user's whole feed in pages of a size.
func walkForward(t *testing.T, c *client, user string, size int) []edge {
	t.Helper()
	var all []edge
	for args := map[string]any{"user": user, "first": size}; ; {
		var p page
		c.must(t, feedQuery, args, &p)
		all = append(all, p.User.Notifications.Edges...)
		info := p.User.Notifications.PageInfo
		if !info.HasNextPage {
			return all
		}
		args["after"] = *info.EndCursor
	}
}

// walkBackward is walkForward from the other end, newest first too.
func walkBackward(t *testing.T, c *client, user string, size int) []edge {
	t.Helper()
	var all []edge
	for args := map[string]any{"user": user, "last": size}; ; {
		var p page
		c.must(t, feedQuery, args, &p)
		all = slices.Concat(p.User.Notifications.Edges, all)
		info := p.User.Notifications.PageInfo
		if !info.HasPreviousPage {
			return all
		}
		args["before"] = *info.StartCursor
	}
}

// feedOf returns a user's feed; the client may read it.
func feedOf(t *testing.T, c *client, user string) []node {
	t.Helper()
	var nodes []node
	for _, e := range walkForward(t, c, user, 100) {
		nodes = append(nodes, e.Node)
	}
	return nodes
}

// testDemoFeed pages through real events, of which up to 20 share a second.
func testDemoFeed(t *testing.T, d *dev) {
	ada := d.as("ada")
	edges := walkForward(t, ada, "ada", 1)
	if diff := cmp.Diff(edges, walkBackward(t, ada, "ada", 1)); diff != "" {
		t.Errorf("backward (-forward +backward):\n%s", diff)
	}
	if !slices.IsSortedFunc(edges, newestFirst(t)) {
		t.Error("not in the order of (created_at, id), newest first")
	}
	events, _ := readDemo(t)
	if diff := cmp.Diff(wantFeed(events, "ada"), gotFeed(edges)); diff != "" {
		t.Errorf("each event once (-want +got):\n%s", diff)
	}
}

// newestFirst compares edges as the contract orders them; two at one place are out of order.
func newestFirst(t *testing.T) func(a, b edge) int {
	place := func(e edge) inbox.Cursor {
		c, ok := inbox.ParseCursor(e.Cursor)
		if !ok {
			t.Fatalf("cursor %q", e.Cursor)
		}
		return c
	}
	return func(a, b edge) int {
		if n := place(b).Compare(place(a)); n != 0 {
			return n
		}
		t.Errorf("twice: %s", a.Node.ID)
		return 0
	}
}

// wantFeed returns a line for each event that the user is told, sorted.
func wantFeed(events []demoEvent, user string) []string {
	var lines []string
	for _, e := range events {
		if slices.Contains(e.Recipients, user) {
			lines = append(lines, strings.Join([]string{e.Event, e.Title, e.URL, e.Actor, capitalised(e.Actor)}, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// gotFeed returns the same lines for what was read.
func gotFeed(edges []edge) []string {
	var lines []string
	for _, e := range edges {
		n := e.Node
		lines = append(lines, strings.Join([]string{n.Kind, n.Title, *n.URL, n.Actor.UserID, n.Actor.DisplayName}, " "))
	}
	slices.Sort(lines)
	return lines
}

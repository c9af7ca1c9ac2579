package resolvers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// stream is one subscription over a socket.
type stream struct {
	t    *testing.T
	ctx  context.Context
	conn *ws.Conn
}

// subscribe opens a socket and subscribes.
func (a *api) subscribe(user, query string, variables any) *stream {
	a.t.Helper()
	server := httptest.NewServer(a.handler)
	a.t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	a.t.Cleanup(cancel)
	conn, _, err := ws.Dial(ctx, server.URL, &ws.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.CloseNow() })
	s := &stream{a.t, ctx, conn}
	s.send(map[string]any{"type": "connection_init", "payload": map[string]any{"token": user}})
	s.read()
	s.send(map[string]any{"type": "subscribe", "id": "s", "payload": map[string]any{"query": query, "variables": variables}})
	return s
}

func (s *stream) send(message any) {
	s.t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Write(s.ctx, ws.MessageText, text); err != nil {
		s.t.Fatal(err)
	}
}

// read returns the payload of the next message.
func (s *stream) read() string {
	s.t.Helper()
	_, text, err := s.conn.Read(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	var m struct{ Payload json.RawMessage }
	if err := json.Unmarshal(text, &m); err != nil {
		s.t.Fatal(err)
	}
	return string(m.Payload)
}

func (s *stream) want(want string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.read()); diff != "" {
		s.t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestTheBadgeIsLive(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(4)
	tabs := make([]*stream, 2)
	for i := range tabs {
		tabs[i] = a.subscribe("ada", `subscription { badgeChanged { user { userId unreadCount unseenCount } } }`, nil)
		tabs[i].want(`{"data":{"badgeChanged":{"user":{"userId":"ada","unreadCount":4,"unseenCount":4}}}}`)
	}
	a.statements.reset()
	a.must(as("ada"), `mutation { markNotificationsSeen(input: {}) { userErrors { code } } }`, nil, nil)
	for _, tab := range tabs {
		tab.want(`{"data":{"badgeChanged":{"user":{"userId":"ada","unreadCount":4,"unseenCount":0}}}}`)
	}
	// One read for both, and none for what is selected of the user.
	if diff := cmp.Diff([]string{"MarkSeen", "Badges"}, a.statements.reset()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

const inboxQuery = `subscription ($categories: [String!]) { inboxChanged(categories: $categories) {
  __typename user { unreadCount }
  ...on NotificationCreated { notificationEdge { cursor node { id title actor { displayName } } } }
  ...on NotificationsUpdated { notifications { id } }
  ...on AllNotificationsRead { categories }
  ...on NotificationsDeleted { deletedIds }
} }`

func TestTheInboxIsLive(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.must(backend(), putAccountMutation, map[string]any{"input": map[string]any{"userId": "chen", "displayName": "Chen"}}, nil)
	s := a.subscribe("ada", inboxQuery, nil)
	s.want(`{"data":{"inboxChanged":{"__typename":"InboxSnapshot","user":{"unreadCount":0}}}}`)

	id := a.dispatch("ada", map[string]any{"runId": "1", "title": "one", "actor": "chen"})
	cursor := a.page(nil).Edges[0].Cursor
	s.want(fmt.Sprintf(`{"data":{"inboxChanged":{"__typename":"NotificationCreated","user":{"unreadCount":1},`+
		`"notificationEdge":{"cursor":"%s","node":{"id":"%s","title":"one","actor":{"displayName":"Chen"}}}}}}`, cursor, id))

	a.change("markNotificationsRead", id)
	s.want(fmt.Sprintf(`{"data":{"inboxChanged":{"__typename":"NotificationsUpdated","user":{"unreadCount":0},"notifications":[{"id":"%s"}]}}}`, id))
	// Case T-27: a second mark is heard by nobody; the next thing heard is the next change.
	a.change("markNotificationsRead", id)
	a.change("markNotificationsUnread", id)
	s.want(fmt.Sprintf(`{"data":{"inboxChanged":{"__typename":"NotificationsUpdated","user":{"unreadCount":1},"notifications":[{"id":"%s"}]}}}`, id))

	a.must(as("ada"), `mutation { markAllNotificationsRead(input: {}) { changedCount } }`, nil, nil)
	s.want(`{"data":{"inboxChanged":{"__typename":"AllNotificationsRead","user":{"unreadCount":0},"categories":null}}}`)

	a.must(as("ada"), `mutation ($ids: [ID!]!) { deleteNotifications(input: {ids: $ids}) { deletedIds } }`, map[string]any{"ids": []string{id}}, nil)
	s.want(fmt.Sprintf(`{"data":{"inboxChanged":{"__typename":"NotificationsDeleted","user":{"unreadCount":0},"deletedIds":["%s"]}}}`, id))
}

// Case T-44: who follows one category hears of that alone, and the total stays right.
func TestT44FollowingACategory(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.subscribe("ada", inboxQuery, map[string]any{"categories": []string{"ci"}})
	s.want(`{"data":{"inboxChanged":{"__typename":"InboxSnapshot","user":{"unreadCount":0}}}}`)
	a.dispatch("ada", map[string]any{"runId": "1", "category": "reviews"})
	s.want(`{"data":{"inboxChanged":{"__typename":"InboxSnapshot","user":{"unreadCount":1}}}}`)
	a.dispatch("ada", map[string]any{"runId": "2", "category": "ci", "title": "two"})
	if got := s.read(); !strings.Contains(got, `"NotificationCreated","user":{"unreadCount":2}`) || !strings.Contains(got, `"title":"two"`) {
		t.Errorf("got %s", got)
	}
}

// Case T-35: an event carries the edge, so that a client need not invent the cursor.
func TestT35AnEventsCursorIsTheLists(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.subscribe("ada", `subscription { inboxChanged { ...on NotificationCreated { notificationEdge { cursor node { title } } } } }`, nil)
	s.want(`{"data":{"inboxChanged":{}}}`)
	a.dispatch("ada", map[string]any{"runId": "1"})
	var got struct {
		Data struct {
			InboxChanged struct {
				NotificationEdge struct{ Cursor string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.read()), &got); err != nil {
		t.Fatal(err)
	}
	cursor := got.Data.InboxChanged.NotificationEdge.Cursor
	if want := a.page(nil).Edges[0].Cursor; cursor != want {
		t.Errorf("cursor: got %s, want %s", cursor, want)
	}
	a.dispatch("ada", map[string]any{"runId": "2", "title": "missed"})
	if got := a.page(map[string]any{"last": 50, "before": cursor}).titles(); got != "missed" {
		t.Errorf("what was missed: got %q", got)
	}
}

// Case T-47: a notification's size is no matter to whoever is told of it.
func TestT47ALargeNotificationIsHeardOf(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.subscribe("ada", `subscription { badgeChanged { user { unreadCount } } }`, nil)
	s.want(`{"data":{"badgeChanged":{"user":{"unreadCount":0}}}}`)
	a.dispatch("ada", map[string]any{"runId": "1", "body": strings.Repeat("x", 10<<10)})
	s.want(`{"data":{"badgeChanged":{"user":{"unreadCount":1}}}}`)
}

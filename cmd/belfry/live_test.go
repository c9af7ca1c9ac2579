package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"

	"belfry/storage/storagetest"
)

// badges subscribes a user over a socket and returns the unread counts that come.
func badges(t *testing.T, p *process, user string) <-chan int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	conn, _, err := ws.Dial(ctx, "ws"+strings.TrimPrefix(p.baseURL(), "http")+"/graphql",
		&ws.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	for _, m := range []string{
		fmt.Sprintf(`{"type":"connection_init","payload":{"Authorization":"Bearer %s"}}`, signed(t, user, "")),
		`{"type":"subscribe","id":"1","payload":{"query":"subscription { badgeChanged { user { unreadCount } } }"}}`,
	} {
		if err := conn.Write(ctx, ws.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	counts := make(chan int, 100)
	go func() {
		defer close(counts)
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				return
			}
			var m struct {
				Payload struct {
					Data struct {
						BadgeChanged struct{ User struct{ UnreadCount int } }
					}
				}
				Type string
			}
			if json.Unmarshal(text, &m) == nil && m.Type == "next" {
				counts <- m.Payload.Data.BadgeChanged.User.UnreadCount
			}
		}
	}()
	return counts
}

func wantBadge(t *testing.T, what string, counts <-chan int, want int) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got, ok := <-counts:
			if !ok {
				t.Fatalf("%s: the socket has closed before %d", what, want)
			}
			if got == want {
				return
			}
		case <-timer.C:
			t.Fatalf("%s: no badge of %d", what, want)
		}
	}
}

// Case T-03 across processes: what is marked at one server, tabs at the other hear of.
func TestT03TwoServersTellEachOther(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	one, two := serve(t, databaseURL), serve(t, databaseURL)
	producer := backendOf(t, one)
	here, there := badges(t, one, "ada"), badges(t, two, "ada")
	wantBadge(t, "at first, here", here, 0)
	wantBadge(t, "at first, there", there, 0)
	for n := range 4 {
		if _, err := producer.dispatch(t.Context(), fmt.Sprint("run", n), "ada"); err != nil {
			t.Fatal(err)
		}
	}
	wantBadge(t, "after the dispatches, here", here, 4)
	wantBadge(t, "after the dispatches, there", there, 4)
	ada := newClient(t, two.baseURL(), signed(t, "ada", ""))
	if _, err := ada.ask(t.Context(), `mutation { markAllNotificationsRead(input: {}) { changedCount } }`, nil); err != nil {
		t.Fatal(err)
	}
	wantBadge(t, "after the mark-all, here", here, 0)
	wantBadge(t, "after the mark-all, there", there, 0)
}

// Case T-42, the server's half: a server that drains tells its sockets to come back elsewhere.
func TestT42ADrainingServerSaysSo(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t), "--drain-delay=0s")
	counts := badges(t, p, "ada")
	wantBadge(t, "at first", counts, 0)
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, ok := <-counts; ok {
		t.Error("a badge after the end")
	}
}

package sse_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport/sse"
)

// patience bounds what has to come, on a busy machine too.
const patience = 20 * time.Second

// ask sends a request over TCP. Its answer ends with ctx.
func ask(ctx context.Context, t *testing.T, srv *httptest.Server, body, accept string) io.ReadCloser {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// untilGone is a subscription that sends big events, and says when its context has ended.
func untilGone(size int) (subscribe func(context.Context) (<-chan *graph.BadgePayload, error), gone <-chan struct{}) {
	ended := make(chan struct{})
	return func(ctx context.Context) (<-chan *graph.BadgePayload, error) {
		c := make(chan *graph.BadgePayload)
		go func() {
			defer close(ended)
			for {
				select {
				case c <- &graph.BadgePayload{User: &inbox.User{ID: strings.Repeat("x", size)}}:
				case <-ctx.Done():
					return
				}
			}
		}()
		return c, nil
	}, ended
}

func wait(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the resolver's context has not ended")
	}
}

const big = `{"query":"subscription { badgeChanged { user { userId } } }"}`

// A stream outlives the server's deadline for reading its request.
func TestAStreamOutlivesTheReadTimeout(t *testing.T) {
	t.Parallel()
	events, subscribe := live()
	srv := newServer(t, stub{badge: subscribe}, sse.Config{KeepAlive: 20 * time.Millisecond})
	srv.Config.ReadTimeout = 500 * time.Millisecond
	srv.Start()
	lines := bufio.NewScanner(ask(t.Context(), t, srv, subscription, "text/event-stream"))
	started := time.Now()
	for time.Since(started) < 2*srv.Config.ReadTimeout && lines.Scan() {
		continue
	}
	select {
	case events <- badge(3):
	case <-time.After(patience):
		t.Fatal("the event was not taken")
	}
	close(events)
	var got []string
	for lines.Scan() {
		if line := lines.Text(); line != "" && line != ":" {
			got = append(got, line)
		}
	}
	if got, want := strings.Join(got, "\n"), "event: next\ndata: "+three+"\nevent: complete\ndata:"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAClientThatGoesEndsTheSubscription(t *testing.T) {
	t.Parallel()
	subscribe, gone := untilGone(10)
	srv := newServer(t, stub{badge: subscribe}, sse.Config{})
	srv.Start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := io.ReadFull(ask(ctx, t, srv, big, "text/event-stream"), make([]byte, 50)); err != nil {
		t.Error(err)
	}
	cancel()
	wait(t, gone)
}

// Once the buffers between the two are full, the deadline of a write ends the stream.
func TestAClientThatDoesNotReadIsLetGo(t *testing.T) {
	t.Parallel()
	subscribe, gone := untilGone(64 << 10)
	srv := newServer(t, stub{badge: subscribe}, sse.Config{WriteTimeout: 100 * time.Millisecond})
	srv.Start()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(big), big)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, gone)
}

// A stream leaves no deadline behind on its connection.
func TestTheConnectionServesOn(t *testing.T) {
	t.Parallel()
	const writeTimeout = 100 * time.Millisecond
	viewer := func(context.Context) (*inbox.User, error) {
		<-time.After(2 * writeTimeout)
		return &inbox.User{ID: "ada"}, nil
	}
	srv := newServer(t, stub{badge: badges(3), viewer: viewer}, sse.Config{WriteTimeout: writeTimeout})
	srv.Start()
	isReused := false
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { isReused = info.Reused },
	})
	for _, tt := range []struct{ body, accept, want string }{
		{subscription, "text/event-stream", open + next(three) + complete},
		{query, "application/json", `{"data":{"viewer":{"userId":"ada"}}}`},
	} {
		got, err := io.ReadAll(ask(ctx, t, srv, tt.body, tt.accept))
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
	}
	if !isReused {
		t.Error("the second request had a connection of its own")
	}
}

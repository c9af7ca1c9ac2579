package websocket_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport/websocket"
)

func badgeOf(user string) *graph.BadgePayload {
	return &graph.BadgePayload{User: &inbox.User{ID: user}}
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited for %s in vain", what)
		case <-ticker.C:
		}
	}
}

// The generated handler writes every event over the one before: each must arrive whole.
func TestEventsAreCopies(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "good")
	c.send(badgeOne)
	for i := range 50 {
		s.badges <- badgeOf(strings.Repeat("x", 50-i))
	}
	for i := range 50 {
		c.want(fmt.Sprintf(`{"id":"1","type":"next","payload":{"data":{"badgeChanged":{"user":{"userId":"%s"}}}}}`, strings.Repeat("x", 50-i)))
	}
}

func TestTheClientEndsASubscription(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "good")
	c.send(badgeOne)
	s.badges <- badgeOf("ada")
	c.want(nextBadge)
	c.send(`{"id":"1","type":"complete"}`)
	<-s.ended
	// Not a word of it any more, and the id is free.
	c.send(badgeOne)
	s.badges <- badgeOf("ada")
	c.want(nextBadge)
}

func TestTheClientEndsAQuery(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "blocks")
	c.send(queryOne)
	<-s.blocked
	c.send(`{"id":"1","type":"complete"}`)
	c.send(`{"type":"ping"}`)
	c.want(`{"type":"pong"}`)
	c.send(`{"type":"ping","payload":{}}`)
	c.want(`{"type":"pong","payload":{}}`)
}

func TestAStreamThatEndsByItself(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "good")
	c.send(badgeOne)
	s.badges <- badgeOf("ada")
	close(s.badges)
	c.want(nextBadge)
	c.want(endOne)
}

func TestOperationsOfOneSocketAreLimited(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "good")
	for i := range 33 {
		c.send(strings.Replace(badgeOne, `"1"`, fmt.Sprintf(`"%d"`, i), 1))
	}
	c.want(`{"id":"32","type":"error","payload":[{"message":"a socket has at most 32 operations at once","extensions":{"code":"RATE_LIMITED","retryAfterMs":0}}]}`)
	c.send(`{"id":"0","type":"complete"}`)
	<-s.ended
	c.send(strings.Replace(queryOne, `"1"`, `"q"`, 1))
	c.want(strings.Replace(nextOne, `"1"`, `"q"`, 1))
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	clients := []*client{s.open(t, "good"), s.open(t, "good"), s.dial(t, nil, "graphql-transport-ws")}
	clients[0].send(badgeOne)
	drained := make(chan error, 1)
	go func() { drained <- s.transport.Drain(t.Context()) }()
	for _, c := range clients {
		c.want(`1012 "Service restart"`)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	s.dial(t, nil, "graphql-transport-ws").want(`1012 "Service restart"`)
	if got := s.transport.Sockets(); got != 0 {
		t.Errorf("sockets: got %d, want 0", got)
	}
}

// A peer that does not answer the close frame holds up a stop for no longer than its deadline.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	s.silent(t)
	await(t, "the socket", func() bool { return s.transport.Sockets() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.transport.Drain(ctx); err == nil || s.transport.Sockets() != 0 {
		t.Errorf("got %v with %d sockets open, want an error and none", err, s.transport.Sockets())
	}
}

// silent opens a socket by hand and never reads or writes again, like a peer that has vanished without a
// FIN.
func (s *server) silent(t *testing.T) net.Conn {
	t.Helper()
	conn, err := s.dialRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// dialRaw opens a socket and subscribes, in one write.
func (s *server) dialRaw(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" +
		"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n" + frame(initGood) + frame(badgeOne)))
	return conn, err
}

// frame returns a client's text frame. It needs a mask; of zeros, that leaves the text as it is.
func frame(message string) string {
	return string([]byte{0x81, 0x80 | byte(len(message)), 0, 0, 0, 0}) + message
}

func TestASilentPeerIsLetGo(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{PingInterval: 20 * time.Millisecond, PongTimeout: 20 * time.Millisecond})
	s.silent(t)
	<-s.ended
	// A peer that lives answers pings by itself as long as it reads.
	c := s.open(t, "good")
	c.send(badgeOne)
	go func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for range 3 {
			<-ticker.C
		}
		s.badges <- badgeOf("ada")
	}()
	c.want(nextBadge)
}

// A subscriber that stops reading costs what the kernel takes and one message. The others feel nothing, and
// it is let go.
func TestASubscriberThatStopsReading(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{WriteTimeout: 500 * time.Millisecond, PingInterval: time.Hour})
	s.silent(t)
	await(t, "the socket", func() bool { return s.transport.Sockets() == 1 })
	big := badgeOf(strings.Repeat("x", 1<<20))
	sent := 0
	for {
		select {
		case s.badges <- big:
			sent++
			if sent > 1000 {
				t.Fatal("the stream never ended")
			}
			continue
		case <-s.ended:
		}
		break
	}
	await(t, "the socket's end", func() bool { return s.transport.Sockets() == 0 })
	for len(s.badges) > 0 {
		<-s.badges
	}
	c := s.open(t, "good")
	c.send(badgeOne)
	s.badges <- badgeOf("ada")
	c.want(nextBadge)
}

// Sockets leave nothing behind, however they end; a tenth of the peers vanish without a FIN.
func TestCyclesLeaveNothing(t *testing.T) {
	s := newServer(t, websocket.Config{PingInterval: time.Second, PongTimeout: time.Second})
	const cycles, atOnce = 10_000, 8
	run := func(count int) (goroutines int, heap uint64) {
		var group sync.WaitGroup
		var mu sync.Mutex
		var vanished []net.Conn // guarded by mu
		for worker := range atOnce {
			group.Go(func() {
				for i := worker; i < count; i += atOnce {
					if conn := cycle(t, s, i); i%10 == 0 {
						mu.Lock()
						vanished = append(vanished, conn)
						mu.Unlock()
					} else if conn != nil {
						_ = conn.Close()
					}
				}
			})
		}
		group.Wait()
		await(t, "all sockets to end", func() bool { return s.transport.Sockets() == 0 })
		for _, conn := range vanished {
			_ = conn.Close()
		}
		var stats runtime.MemStats
		for range 3 { // what has a finalizer goes with the second, what is pooled with the third
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return runtime.NumGoroutine(), stats.HeapAlloc
	}
	// The second half needs what the first one has left: the runtime keeps room for its peaks.
	goroutines, heap := run(cycles / 2)
	_, after := run(cycles / 2)
	await(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines+atOnce })
	// Of 5,000 cycles, each of which holds some 20 kB while it lasts.
	if grown := int64(after) - int64(heap); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// cycle opens a socket, waits for the acknowledgement and leaves in one of several ways. Who vanishes has
// only to stop.
func cycle(t *testing.T, s *server, i int) net.Conn {
	t.Helper()
	conn, err := s.dialRaw(t.Context())
	if err != nil {
		t.Error(err)
		return nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for buf, got := make([]byte, 4096), ""; !strings.Contains(got, ack); {
		n, err := conn.Read(buf)
		if err != nil {
			t.Error(err)
			return conn
		}
		got += string(buf[:n])
	}
	switch i % 4 {
	case 0: // a FIN alone
	case 1: // a reset
		_ = conn.(*net.TCPConn).SetLinger(0)
	case 2:
		_, _ = conn.Write([]byte(frame(endOne)))
	case 3: // a close frame with the code 1000
		_, _ = conn.Write([]byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8})
	}
	return conn
}

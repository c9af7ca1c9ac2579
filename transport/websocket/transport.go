// Package websocket serves GraphQL over WebSockets by the protocol graphql-transport-ws, and that alone:
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md.
//
// A socket costs one goroutine that reads, and one more for each operation under way. Neither is the one
// that net/http began with: that one ends with the upgrade, and with it what it holds. Nothing is queued:
// an operation asks for its next result when the one before it has been written, so that a client which
// reads slowly gets the newest state and no backlog.
package websocket

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	ws "github.com/coder/websocket"

	"belfry/inbox"
)

const (
	subprotocol = "graphql-transport-ws"
	// maxMessage is the longest message of a client, in bytes; a longer one closes the socket with 1009.
	maxMessage = 64 << 10
	// maxDiscarded is how much of a longer one is read for the sake of a close frame that arrives.
	maxDiscarded = 8 << 20
	// maxOperations is the most operations under way on one socket.
	maxOperations = 32
)

// Config says how sockets are served. The zero values of the times stand for their defaults.
type Config struct {
	// Authenticate turns a token into a caller. Its errors are *inbox.Error.
	Authenticate func(ctx context.Context, token string) (inbox.Caller, error)
	// Origins are the hosts, besides the server's own, whose pages may connect; patterns of path.Match.
	Origins []string
	// InitTimeout is how long a client may take for connection_init. Default 5 s.
	InitTimeout time.Duration
	// PingInterval is how long a socket may be silent before it is asked. Default 20 s.
	PingInterval time.Duration
	// PongTimeout is how long the answer may take. Default 10 s.
	PongTimeout time.Duration
	// WriteTimeout is how long one message may take to be written. Default 10 s.
	WriteTimeout time.Duration
	Logger       *slog.Logger
}

// Transport is a graphql.Transport for WebSockets.
type Transport struct {
	cfg     Config
	base    context.Context // of every socket
	reading context.Context // base without its end, which closes the sockets in another way

	mu         sync.Mutex
	sockets    map[*socket]struct{} // guarded by mu
	isDraining bool                 // guarded by mu
	open       sync.WaitGroup       // counts sockets; added to with mu held
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a transport whose sockets end with ctx at the latest. Call Drain to end them in good order.
func New(ctx context.Context, cfg Config) *Transport {
	cfg.InitTimeout = cmp.Or(cfg.InitTimeout, 5*time.Second)
	cfg.PingInterval = cmp.Or(cfg.PingInterval, 20*time.Second)
	cfg.PongTimeout = cmp.Or(cfg.PongTimeout, 10*time.Second)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 10*time.Second)
	t := &Transport{cfg: cfg, base: ctx, reading: context.WithoutCancel(ctx), sockets: map[*socket]struct{}{}}
	go t.keepAlive(ctx)
	return t
}

// Supports implements graphql.Transport.
func (t *Transport) Supports(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Do implements graphql.Transport. It returns when the socket is open, not when it closes.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	// The body of an upgrade is empty; what a deadline of the server's left on the connection is not.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	s := &socket{transport: t, exec: exec, operations: map[string]*operation{}}
	conn, err := ws.Accept(smallBuffers{w}, r, &ws.AcceptOptions{
		Subprotocols:    []string{subprotocol},
		OriginPatterns:  t.cfg.Origins,
		CompressionMode: ws.CompressionDisabled, // it would cost more memory than all the rest
	})
	if err != nil {
		// Accept has answered. Its error may hold what the client sent.
		t.cfg.Logger.Debug("websocket refused", "remote", r.RemoteAddr)
		return
	}
	conn.SetReadLimit(-1) // see socket.take
	s.conn = conn
	if conn.Subprotocol() != subprotocol {
		go func() { _ = conn.Close(codeSubprotocol, "Subprotocol not acceptable") }()
		return
	}
	s.caller, s.callerErr = inbox.CallerFrom(r.Context())
	if !t.add(s) {
		go func() { _ = conn.Close(codeRestart, "Service restart") }()
		return
	}
	go s.run()
}

// add counts a socket in, unless the transport is draining.
func (t *Transport) add(s *socket) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isDraining {
		return false
	}
	t.sockets[s] = struct{}{}
	t.open.Add(1)
	return true
}

func (t *Transport) remove(s *socket) {
	t.mu.Lock()
	delete(t.sockets, s)
	t.mu.Unlock()
	t.open.Done()
}

// Drain closes every socket with 1012, which tells clients to come back, and refuses new ones. It returns
// when all are closed, or with the error of ctx.
func (t *Transport) Drain(ctx context.Context) error {
	t.mu.Lock()
	t.isDraining = true
	for s := range t.sockets {
		s.close(codeRestart, "Service restart")
	}
	t.mu.Unlock()
	closed := make(chan struct{})
	go func() {
		t.open.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	for s := range t.sockets {
		_ = s.conn.CloseNow()
	}
	t.mu.Unlock()
	<-closed
	return ctx.Err()
}

// Sockets returns how many are open.
func (t *Transport) Sockets() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sockets)
}

// keepAlive asks silent sockets whether they are still there: one goroutine for all of them.
func (t *Transport) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(max(t.cfg.PingInterval/8, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			t.mu.Lock()
			for s := range t.sockets {
				if s.startPing(now, t.cfg.PingInterval) {
					go s.ping()
				}
			}
			t.mu.Unlock()
		}
	}
}

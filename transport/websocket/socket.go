package websocket

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	ws "github.com/coder/websocket"

	"belfry/inbox"
)

// socket is one connection.
type socket struct {
	transport *Transport
	exec      graphql.GraphExecutor
	conn      *ws.Conn

	// heardAt is when the peer last gave a sign of life, in Unix nanoseconds.
	heardAt atomic.Int64
	// isPinging is set while an answer is awaited.
	isPinging atomic.Bool

	// What follows up to mu belongs to run.
	caller    inbox.Caller
	callerErr error // why there is no caller
	hasInit   bool
	isAcked   bool

	mu         sync.Mutex
	isClosing  bool                  // guarded by mu
	operations map[string]*operation // guarded by mu
	timer      *time.Timer           // guarded by mu: of connection_init, then of the token's expiry
}

// run reads until the socket closes, and then ends what is still under way.
func (s *socket) run() {
	defer s.transport.remove(s)
	ctx, cancel := context.WithCancel(s.transport.base)
	defer cancel()
	stop := context.AfterFunc(s.transport.base, func() { _ = s.conn.CloseNow() })
	defer stop()
	defer s.stopTimer()
	defer func() { _ = s.conn.CloseNow() }()

	s.setTimer(s.transport.cfg.InitTimeout, codeInitTimeout, "Connection initialisation timeout")
	received := make(chan bool)
	for {
		s.heardAt.Store(time.Now().UnixNano())
		// The socket's own end ends the read; a context with a deadline would cost a timer for each message.
		kind, reader, err := s.conn.Reader(s.transport.reading)
		if err != nil {
			return
		}
		// On a goroutine that ends with the message: decoding takes a deep stack, which a socket that waits
		// for days would keep.
		go func() { received <- s.take(ctx, kind, reader) }()
		if !<-received {
			return
		}
	}
}

// take reads a message and acts on it. It reports whether the socket can go on.
func (s *socket) take(ctx context.Context, kind ws.MessageType, reader io.Reader) bool {
	s.heardAt.Store(time.Now().UnixNano())
	data, err := io.ReadAll(io.LimitReader(reader, maxMessage+1))
	// To its end, whatever it is: what is left would be taken for the next frame, and a socket that is
	// closed with something unread is reset, which can cost the client the close frame.
	rest, discardErr := io.Copy(io.Discard, io.LimitReader(reader, maxDiscarded))
	switch {
	case err != nil || discardErr != nil || rest == maxDiscarded:
		return false
	case s.closing():
	case len(data) > maxMessage:
		s.close(ws.StatusMessageTooBig, "Message too big")
	case kind != ws.MessageText:
		s.close(codeBadRequest, "Message is not text")
	default:
		s.receive(ctx, data)
	}
	return true
}

func (s *socket) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isClosing
}

// close sends a close frame, at most once, and has run end. It does not wait.
func (s *socket) close(code ws.StatusCode, reason string) {
	s.mu.Lock()
	if s.isClosing {
		s.mu.Unlock()
		return
	}
	s.isClosing = true
	for _, o := range s.operations {
		o.cancel()
	}
	s.mu.Unlock()
	// It waits up to 5 s for the peer's own close frame.
	go func() { _ = s.conn.Close(code, reason) }()
}

// write sends a message. A peer that does not take it in time is closed by the failed write, without a
// close frame: there is no room for one.
func (s *socket) write(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.transport.cfg.WriteTimeout)
	defer cancel()
	return s.conn.Write(ctx, ws.MessageText, message)
}

// setTimer closes the socket after some time, in place of what was set before.
func (s *socket) setTimer(after time.Duration, code ws.StatusCode, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(after, func() { s.close(code, reason) })
}

func (s *socket) stopTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// startPing reports whether the socket has been silent for so long that it is to be asked.
func (s *socket) startPing(now time.Time, interval time.Duration) bool {
	silent := now.UnixNano() - s.heardAt.Load()
	return silent >= int64(interval) && s.isPinging.CompareAndSwap(false, true)
}

// ping asks whether the peer is still there. One that does not answer is told to come back, in case it
// reads after all, and let go.
func (s *socket) ping() {
	defer s.isPinging.Store(false)
	sent := time.Now()
	ctx, cancel := context.WithTimeout(s.transport.base, s.transport.cfg.PongTimeout)
	defer cancel()
	if err := s.conn.Ping(ctx); err == nil {
		s.heardAt.Store(time.Now().UnixNano())
		return
	}
	// Any other message is a sign of life too.
	if s.heardAt.Load() < sent.UnixNano() {
		s.close(codeTryLater, "No answer to a ping")
	}
}

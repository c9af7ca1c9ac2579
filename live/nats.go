package live

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// natsSubject is what hints are sent to, with the sender's name after it. The one wildcard subscription
	// of a process is to all of them.
	natsSubject = "belfry.hint."
	// natsReconnectWait is the pause between two tries to reach a server.
	natsReconnectWait = 250 * time.Millisecond
	// natsInterval is the least time between two batches: a message costs a server little.
	natsInterval = 2 * time.Millisecond
	// natsLimit is the most bytes of a message, well below the 1 MiB that a server takes by default.
	natsLimit = 64 << 10
)

// NATS is the broker of many processes. Core NATS delivers at most once, which is enough for hints.
type NATS struct {
	conn   *nats.Conn
	self   string
	outbox *Outbox
	logger *slog.Logger

	mu     sync.Mutex
	resync func() // guarded by mu; nil before Run
}

// OpenNATS connects to one of the servers that the URL lists, separated by commas. A server that can't be
// reached is no error: the connection is made when it can.
func OpenNATS(url string, logger *slog.Logger) (*NATS, error) {
	b := &NATS{self: rand.Text(), outbox: NewOutbox(natsInterval), logger: logger}
	conn, err := nats.Connect(url,
		nats.Name("belfry"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(natsReconnectWait),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("nats connection lost", "error", err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.caughtUp() }),
		nats.ConnectHandler(func(*nats.Conn) { b.caughtUp() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			// A slow consumer has lost messages.
			logger.Warn("nats", "error", err.Error())
			b.caughtUp()
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	b.conn = conn
	return b, nil
}

// caughtUp is called when hints may have been lost and can be heard again.
func (b *NATS) caughtUp() {
	b.mu.Lock()
	resync := b.resync
	b.mu.Unlock()
	if resync != nil {
		resync()
	}
}

// Publish implements Broker.
func (b *NATS) Publish(userIDs []string) { b.outbox.Add(userIDs) }

// Run implements Broker. It closes the connection at its end.
func (b *NATS) Run(ctx context.Context, heard func(userIDs []string), resync func()) {
	defer b.conn.Close()
	b.mu.Lock()
	b.resync = resync
	b.mu.Unlock()
	_, err := b.conn.Subscribe(natsSubject+"*", func(m *nats.Msg) {
		// The sender is in the subject too, but one form of a message for both brokers is enough.
		Deliver(string(m.Data), b.self, heard, resync)
	})
	if err != nil {
		b.logger.Error("nats subscription", "error", err.Error())
		<-ctx.Done()
		return
	}
	resync()
	b.outbox.Run(ctx, b.send)
}

func (b *NATS) send(_ context.Context, userIDs []string) error {
	for _, payload := range Payloads(b.self, userIDs, natsLimit) {
		if err := b.conn.Publish(natsSubject+strings.ToLower(b.self), []byte(payload)); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
	}
	return nil
}

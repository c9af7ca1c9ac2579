package storage

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// HintLimit is the most bytes of one hint: what NOTIFY can carry.
const HintLimit = 7999

const (
	// listenProbe is how often a silent connection is asked whether it is still there.
	listenProbe = 20 * time.Second
	// listenProbeTimeout is how long the answer may take.
	listenProbeTimeout = 5 * time.Second
)

// A hint need not survive a crash of the database, after which everybody reads again anyway, so its commit
// waits for no disk.
const notifySQL = `-- name: Notify
SELECT set_config('synchronous_commit', 'off', true), count(pg_notify('belfry_hint', p)) FROM unnest($1::text[]) AS p`

// Notify sends hints to every process that listens. NOTIFY takes a lock of the whole database during the
// commit, so call it seldom and with much.
func (s *Store) Notify(ctx context.Context, hints []string) error {
	_, err := s.pool.Exec(ctx, notifySQL, hints)
	return fault("notify", err)
}

const listenSQL = `-- name: Listen
LISTEN belfry_hint`

// Listen calls ready once it listens, and heard for each hint, until ctx ends or the connection breaks. It
// needs a connection to Postgres itself, not to a pooler: see Config.ListenURL.
func (s *Store) Listen(ctx context.Context, ready func(), heard func(hint string)) error {
	conn, err := pgx.ConnectConfig(ctx, s.listen.Copy())
	if err != nil {
		return fault("listen", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenProbeTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, listenSQL); err != nil {
		return fault("listen", err)
	}
	ready()
	for {
		hint, err := nextHint(ctx, conn)
		if err != nil {
			return fault("listen", err)
		}
		heard(hint)
	}
}

// nextHint waits for a hint. A peer that vanished without a word shows in a probe that nobody answers.
func nextHint(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, listenProbe)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		if err == nil {
			return n.Payload, nil
		}
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return "", err
		}
		probe, cancel := context.WithTimeout(ctx, listenProbeTimeout)
		err = conn.Ping(probe)
		cancel()
		if err != nil {
			return "", err
		}
	}
}

package storage

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Sweep is the right to remove what is old, which one process has at a time. The lock belongs to a
// connection, and everything is removed over that same one: whoever loses the lock can't go on, since the
// connection is gone too. It is not safe for concurrent use.
type Sweep struct {
	conn *pgx.Conn
	// Now is when it began, by the database's clock, which is one for all processes.
	Now time.Time
}

// A sweep need not survive a crash of the database, after which the next one removes the same rows: its
// commits wait for no disk, and so nobody waits for a disk behind them. A machine that has vanished without a
// word must not keep the lock: no pause in a sweep is as long as five minutes.
const beginSweepSQL = `-- name: BeginSweep
SELECT pg_try_advisory_lock(hashtext('belfry'), hashtext('sweep')), clock_timestamp(),
  set_config('synchronous_commit', 'off', false), set_config('idle_session_timeout', '5min', false),
  EXISTS (SELECT FROM sweeps WHERE name = 'retention' AND began_at > clock_timestamp() - $1::interval)`

// BeginSweep begins a sweep, or returns false where another process is at it, or where one that has come
// to its end began less than interval ago. It needs a connection to Postgres itself, not to a pooler: see
// Config.ListenURL.
func (s *Store) BeginSweep(ctx context.Context, interval time.Duration) (*Sweep, bool, error) {
	if s.listen.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		// A lock taken through it would stay with one of its connections, for ever and for nobody.
		return nil, false, errors.New("begin sweep: behind a pooler it takes the database's own address too, listen-database-url")
	}
	conn, err := pgx.ConnectConfig(ctx, s.listen.Copy())
	if err != nil {
		return nil, false, fault("begin sweep", err)
	}
	w := &Sweep{conn: conn}
	var isLocked, isRecent bool
	err = conn.QueryRow(ctx, beginSweepSQL, interval).Scan(&isLocked, &w.Now, nil, nil, &isRecent)
	if err != nil || !isLocked || isRecent {
		w.Close(ctx)
		return nil, false, fault("begin sweep", err)
	}
	return w, true, nil
}

const endSweepSQL = `-- name: EndSweep
INSERT INTO sweeps (name, began_at) VALUES ('retention', $1)
ON CONFLICT (name) DO UPDATE SET began_at = excluded.began_at`

// End writes down that the sweep has come to its end.
func (w *Sweep) End(ctx context.Context) error {
	_, err := w.conn.Exec(ctx, endSweepSQL, w.Now)
	return fault("end sweep", err)
}

// closeTimeout bounds the goodbye of a connection.
const closeTimeout = 5 * time.Second

// Close gives the lock back, whether or not the sweep has come to its end.
func (w *Sweep) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = w.conn.Close(ctx)
}

// SweepBatch is the most rows that a Purge removes, or counts, at a time; a few more where several are of
// the same microsecond. So many are removed in some 2 ms, which is how long at most they hold up others who
// want the same core.
const SweepBatch = 500

// Purge goes over one kind of what is old, batch by batch along an index.
type Purge interface {
	// Next goes over the next batch, and removes it or only counts it. Each is a transaction of its own.
	Next(ctx context.Context, remove bool) (Purged, error)
}

// Purged is what one step of a Purge came by.
type Purged struct {
	// Rows is how many were old, and are gone if they were to be.
	Rows int
	// Users are those who have lost something unread.
	Users []string
	// IsLast says that there is no more.
	IsLast bool
}

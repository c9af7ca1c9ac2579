// Package storage keeps Belfry's data in Postgres. It is the only package with SQL. Each statement is a
// constant beside the method that uses it, and its first line names it in logs and traces.
//
// Every exported method is one transaction. Its errors are *inbox.Error with the code Unavailable where
// Postgres does not answer and the same call may work later; any other error is a defect.
package storage

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"belfry/inbox"
)

// Config says which database to use.
type Config struct {
	// URL is a connection string as pgx and libpq read it. pool_max_conns and the like belong in it, and
	// default_query_exec_mode=cache_describe where PgBouncer pools transactions.
	URL string
	// ListenURL is for Listen and for sweeps, where URL leads to a pooler; URL where empty.
	ListenURL string
	// Logger hears of what nobody is told otherwise.
	Logger *slog.Logger
	// Tracer sees every statement; nil for none.
	Tracer pgx.QueryTracer
}

// Store is a Postgres database with Belfry's schema. It is safe for concurrent use.
type Store struct {
	pool   *pgxpool.Pool
	listen *pgx.ConnConfig
}

// connectTimeout bounds one attempt to reach Postgres, so that a request during an outage is answered.
const connectTimeout = 2 * time.Second

// Open prepares a pool of connections. It connects to nothing yet: a Store outlives the absence of its
// database, at its start too. Call Ping to know.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = connectTimeout
	}
	if _, ok := pc.ConnConfig.RuntimeParams["application_name"]; !ok {
		pc.ConnConfig.RuntimeParams["application_name"] = "belfry"
	}
	if !strings.Contains(cfg.URL, "pool_max_conns") {
		pc.MaxConns = maxConns
	}
	setSession(pc.ConnConfig)
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		cfg.Logger.Debug("postgres notice", "severity", n.Severity, "sqlstate", n.Code)
	}
	pc.AfterConnect = useUTC
	listen := pc.ConnConfig.Copy()
	if cfg.ListenURL != "" {
		if listen, err = pgx.ParseConfig(cfg.ListenURL); err != nil {
			return nil, fmt.Errorf("listen database url: %w", err)
		}
		listen.ConnectTimeout, listen.Tracer = pc.ConnConfig.ConnectTimeout, cfg.Tracer
		setSession(listen)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("database pool: %w", err)
	}
	return &Store{pool: pool, listen: listen}, nil
}

// maxConns is how many connections the pool has where the URL does not say: most of the time they wait for
// Postgres, and for the disk under a commit.
const maxConns = 16

// Session returns the settings of a session that the statements are written for.
// doc/decisions/0022-plans-do-not-change.md says why.
func Session() map[string]string {
	return map[string]string{
		// When Postgres itself ends a statement, in case nobody is there any more to cancel it: later than what an
		// operation may take.
		"statement_timeout": "40s",
		// One plan for each statement, whatever its arguments: to plan a dispatch takes three times what it does.
		"plan_cache_mode": "force_generic_plan",
		// And the one that follows an index, even if the table was empty when the plan was made.
		"enable_seqscan": "off",
		"jit":            "off",
	}
}

// setSession leaves alone what the URL says, and connections to a pooler, which would refuse the parameters:
// there the role has to have them.
func setSession(cc *pgx.ConnConfig) {
	if cc.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		return
	}
	for name, value := range Session() {
		if _, isSet := cc.RuntimeParams[name]; !isSet {
			cc.RuntimeParams[name] = value
		}
	}
}

// useUTC makes instants come back in UTC instead of the process's zone.
func useUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name:  "timestamptz",
		OID:   pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

// Close waits for the statements under way and closes all connections.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether Postgres answers; the error is Unavailable where it does not.
func (s *Store) Ping(ctx context.Context) error {
	return fault("ping", s.pool.Ping(ctx))
}

// at returns a position's time for a parameter.
func at(c inbox.Cursor) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: c.CreatedAt, Valid: true}
}

// id returns an id for a parameter.
func id(u inbox.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: true} }

// timestamp returns a time for a parameter, null for nil.
func timestamp(t *time.Time) pgtype.Timestamptz {
	if t == nil {
		return pgtype.Timestamptz{}
	}
	return pgtype.Timestamptz{Time: *t, Valid: true}
}

// timeOf returns a time, nil for none.
func timeOf(t pgtype.Timestamptz) *time.Time {
	if !t.Valid {
		return nil
	}
	at := t.Time
	return &at
}

// keys splits positions into the two arrays that statements unnest.
func keys(cursors []inbox.Cursor) ([]pgtype.Timestamptz, []pgtype.UUID) {
	times := make([]pgtype.Timestamptz, len(cursors))
	ids := make([]pgtype.UUID, len(cursors))
	for i, c := range cursors {
		times[i], ids[i] = at(c), id(c.ID)
	}
	return times, ids
}

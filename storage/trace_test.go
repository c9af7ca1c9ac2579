package storage_test

import (
	"context"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"belfry/storage"
	"belfry/storage/storagetest"
)

// sent is a statement that a store has sent.
type sent struct {
	name, sql string
	args      []any
}

// recorder is a tracer that keeps what was sent.
type recorder struct {
	mu         sync.Mutex
	statements []sent // guarded by mu
}

// traced returns a store over a database, and what records its statements.
func traced(t testing.TB, databaseURL string) (*storage.Store, *recorder) {
	t.Helper()
	r := &recorder{}
	return storagetest.Open(t, storage.Config{URL: databaseURL, Tracer: r}), r
}

// statementName finds a statement's name in its first line.
var statementName = regexp.MustCompile(`^-- name: (\S+)\n`)

// add passes over what pgx sends by itself, which has no name.
func (r *recorder) add(sql string, args []any) {
	match := statementName.FindStringSubmatch(sql)
	if match == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, sent{match[1], sql, args})
}

// take returns what was sent since it was last called.
func (r *recorder) take() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements := r.statements
	r.statements = nil
	return statements
}

// names returns the names of what was sent since take was last called.
func (r *recorder) names() []string {
	var names []string
	for _, s := range r.take() {
		names = append(names, s.name)
	}
	return names
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.add(data.SQL, data.Args)
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (r *recorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	r.add(data.SQL, data.Args)
}

func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

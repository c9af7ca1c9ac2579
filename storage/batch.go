package storage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Batch gathers reads that travel to the database together: one connection, one round trip. Each method adds
// a read of several distinct users and returns the map that holds the answers, by user, once Send has
// returned without an error. The zero value is empty.
type Batch struct {
	queued pgx.Batch
}

// Send asks everything that the batch has gathered. Where one read fails, all have failed.
func (s *Store) Send(ctx context.Context, b *Batch) error {
	if b.queued.Len() == 0 {
		return nil
	}
	return fault("read", s.pool.SendBatch(ctx, &b.queued).Close())
}

// each adds a statement over users, whose rows the targets take one by one: add is called for each.
func (b *Batch) each(op, sql string, users []string, targets []any, add func()) {
	b.query(op, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, targets, func() error {
			add()
			return nil
		})
		return err
	}, sql, users)
}

// query adds a statement and what reads its rows.
func (b *Batch) query(op string, read func(pgx.Rows) error, sql string, args ...any) {
	b.queued.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		if err := read(rows); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		return nil
	})
}

// Ask sends a batch of one read.
func Ask[V any](ctx context.Context, s *Store, users []string, read func(*Batch, []string) map[string]V) (map[string]V, error) {
	var b Batch
	found := read(&b, users)
	if err := s.Send(ctx, &b); err != nil {
		return nil, err
	}
	return found, nil
}

// change takes a lock of a user's, runs a statement on the user, whose id is its first argument, and reads its
// rows: one transaction in one round trip. That it is committed is known when change has returned.
func (s *Store) change(ctx context.Context, lockSQL string, read func(pgx.Rows) error, sql, userID string, more ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(lockSQL, userID)
	batch.Queue(sql, append([]any{userID}, more...)...).Query(read)
	return s.pool.SendBatch(ctx, batch).Close()
}

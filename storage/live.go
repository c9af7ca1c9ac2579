package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// FeedState is a user's counters and newest notifications as of one moment.
type FeedState struct {
	Badge inbox.Badge
	// Feed is newest first, archived ones too.
	Feed []*inbox.Notification
}

// FeedStates reads each user's counters and so many of the newest notifications. Both come from one
// snapshot: a count that is newer than the list beside it would look like a change of its own.
func (s *Store) FeedStates(ctx context.Context, userIDs []string, size int) (map[string]FeedState, error) {
	states := make(map[string]FeedState, len(userIDs))
	batch := &pgx.Batch{}
	feedList.queue(batch, userIDs, span{limit: size}, feedArguments(inbox.Filter{})...)
	batch.Queue(badgesSQL, userIDs)
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		results := tx.SendBatch(ctx, batch)
		defer func() { _ = results.Close() }()
		feeds, err := feedList.collect(results)
		if err != nil {
			return err
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		badges, err := scanBadges(rows)
		for _, u := range userIDs {
			states[u] = FeedState{Badge: badges[u], Feed: feeds[u]}
		}
		return err
	})
	return states, fault("feed states", err)
}

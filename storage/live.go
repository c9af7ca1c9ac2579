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
	var b Batch
	feeds := make(map[string][]*inbox.Notification, len(userIDs))
	feedList.queue(&b, userIDs, span{limit: size}, feedArguments(inbox.Page{}, inbox.Filter{}), func(rows pgx.Rows) error {
		return scanNotifications(rows, func(n *inbox.Notification) { feeds[n.UserID] = append(feeds[n.UserID], n) })
	})
	badges := b.Badges(userIDs)
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		return tx.SendBatch(ctx, &b.queued).Close()
	})
	if err != nil {
		return nil, fault("feed states", err)
	}
	states := make(map[string]FeedState, len(userIDs))
	for _, u := range userIDs {
		states[u] = FeedState{Badge: badges[u], Feed: feeds[u]}
	}
	return states, nil
}

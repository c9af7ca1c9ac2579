package storage

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// Both counts stop at 9,999, which means "or more": the cost of a badge is bounded too.
//
// The order, and a limit that the planner can't see, are there for the plan: an ordered index scan, which
// stops at the limit. For the few rows that an average user has a bitmap of all of them looks as cheap.
const unreadRows = `
     FROM notifications n
     WHERE n.user_id = u.user_id AND n.read_at IS NULL AND n.archived_at IS NULL
     ORDER BY n.created_at DESC, n.id DESC LIMIT (SELECT 9999)`

const unreadCount = `
  (SELECT count(*) FROM (SELECT` + unreadRows + `) c)`

const unreadCountsSQL = `-- name: UnreadCounts
SELECT u.user_id, ` + unreadCount + `, 0, now()
FROM unnest($1::text[]) AS u (user_id)`

// Unseen is what is unread and above the watermark, or below it but arrived after the mark.
const badgesSQL = `-- name: Badges
SELECT u.user_id, c.unread, c.unseen, now()
FROM unnest($1::text[]) AS u (user_id)
LEFT JOIN seen_watermarks w ON w.user_id = u.user_id
CROSS JOIN LATERAL (
  SELECT count(*) AS unread, count(*) FILTER (
    WHERE w.user_id IS NULL OR (c.created_at, c.id) > (w.created_at, w.id) OR c.id >= w.horizon) AS unseen
  FROM (SELECT n.created_at, n.id` + unreadRows + `) c) c`

// UnreadCounts adds a read of how many notifications each user has unread; the badges' Unseen stays 0. It is
// cheaper than Badges.
func (b *Batch) UnreadCounts(userIDs []string) map[string]inbox.Badge {
	return b.badges("unread counts", unreadCountsSQL, userIDs)
}

// Badges adds a read of each user's counters.
func (b *Batch) Badges(userIDs []string) map[string]inbox.Badge {
	return b.badges("badges", badgesSQL, userIDs)
}

// Badges reads each user's counters.
func (s *Store) Badges(ctx context.Context, userIDs []string) (map[string]inbox.Badge, error) {
	return Ask(ctx, s, userIDs, (*Batch).Badges)
}

// badges adds a statement whose rows are a user's id, two counts and their time: the transaction's start,
// which is never later than what the counts show.
func (b *Batch) badges(op, sql string, userIDs []string) map[string]inbox.Badge {
	badges := make(map[string]inbox.Badge, len(userIDs))
	var user string
	var badge inbox.Badge
	targets := []any{&user, &badge.Unread, &badge.Unseen, &badge.CountedAt}
	b.each(op, sql, userIDs, targets, func() { badges[user] = badge })
	return badges
}

// The watermark never moves back. The horizon always moves on: what arrived before this call and lies at
// or below the position has been seen.
const markSeenSQL = `-- name: MarkSeen
INSERT INTO seen_watermarks AS w (user_id, created_at, id, horizon)
SELECT $1, p.created_at, p.id, $4::uuid FROM (
  SELECT $2::timestamptz AS created_at, $3::uuid AS id WHERE $2 IS NOT NULL
  UNION ALL
  (SELECT n.created_at, n.id FROM notifications n
   WHERE $2 IS NULL AND n.user_id = $1
   ORDER BY n.created_at DESC, n.id DESC LIMIT 1)) p
ON CONFLICT (user_id) DO UPDATE SET
  created_at = CASE WHEN (excluded.created_at, excluded.id) > (w.created_at, w.id) THEN excluded.created_at ELSE w.created_at END,
  id = CASE WHEN (excluded.created_at, excluded.id) > (w.created_at, w.id) THEN excluded.id ELSE w.id END,
  horizon = greatest(excluded.horizon, w.horizon)`

// MarkSeen moves the user's watermark up to a position, or to the newest notification there is where
// through is nil.
func (s *Store) MarkSeen(ctx context.Context, userID string, through *inbox.Cursor) error {
	var throughAt pgtype.Timestamptz
	var throughID pgtype.UUID
	if through != nil {
		throughAt, throughID = at(*through), id(through.ID)
	}
	horizon, err := newUUID()
	if err != nil {
		return fault("mark seen", err)
	}
	_, err = s.pool.Exec(ctx, markSeenSQL, userID, throughAt, throughID, id(horizon))
	return fault("mark seen", err)
}

// newUUID returns a UUIDv7: greater than all that this process made before.
func newUUID() (inbox.UUID, error) {
	u, err := uuid.NewV7()
	return inbox.UUID(u), err
}

package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// Rows are locked from old to new, here and in markAllReadSQL: two calls that change some of the same
// notifications wait for each other and never deadlock. Keys never change, so the order holds after a wait.
const (
	markTarget = `
WITH target AS (
  SELECT n.created_at, n.id
  FROM unnest($2::timestamptz[], $3::uuid[]) AS k (created_at, id)
  JOIN notifications n ON n.user_id = $1 AND n.created_at = k.created_at AND n.id = k.id
  WHERE `
	markLock = `
  ORDER BY n.created_at, n.id
  FOR UPDATE OF n)`
	markRow = `
FROM target t
WHERE n.user_id = $1 AND n.created_at = t.created_at AND n.id = t.id
RETURNING n.created_at, n.id`
)

const markReadSQL = `-- name: MarkRead` +
	markTarget + `n.read_at IS NULL` + markLock + `
UPDATE notifications n SET read_at = statement_timestamp()` + markRow

const markUnreadSQL = `-- name: MarkUnread` +
	markTarget + `n.read_at IS NOT NULL` + markLock + `
UPDATE notifications n SET read_at = NULL` + markRow

const archiveSQL = `-- name: Archive` +
	markTarget + `n.archived_at IS NULL` + markLock + `
UPDATE notifications n SET archived_at = statement_timestamp()` + markRow

const unarchiveSQL = `-- name: Unarchive` +
	markTarget + `n.archived_at IS NOT NULL` + markLock + `
UPDATE notifications n SET archived_at = NULL` + markRow

const deleteNotificationsSQL = `-- name: DeleteNotifications` +
	markTarget + `true` + markLock + `
DELETE FROM notifications n USING target t
WHERE n.user_id = $1 AND n.created_at = t.created_at AND n.id = t.id
RETURNING n.created_at, n.id`

// Marked is what a call has done to some of a user's notifications.
type Marked struct {
	// Notifications holds those that exist, as they are now.
	Notifications map[inbox.Cursor]*inbox.Notification
	// Changed holds those that the call changed.
	Changed map[inbox.Cursor]bool
}

// MarkRead marks those of the user's notifications read that are not.
func (s *Store) MarkRead(ctx context.Context, userID string, at []inbox.Cursor) (Marked, error) {
	return s.mark(ctx, "mark read", markReadSQL, userID, at)
}

// MarkUnread takes the mark back from those of the user's notifications that have it.
func (s *Store) MarkUnread(ctx context.Context, userID string, at []inbox.Cursor) (Marked, error) {
	return s.mark(ctx, "mark unread", markUnreadSQL, userID, at)
}

// Archive puts away those of the user's notifications that are not.
func (s *Store) Archive(ctx context.Context, userID string, at []inbox.Cursor) (Marked, error) {
	return s.mark(ctx, "archive", archiveSQL, userID, at)
}

// Unarchive brings back those of the user's notifications that are put away.
func (s *Store) Unarchive(ctx context.Context, userID string, at []inbox.Cursor) (Marked, error) {
	return s.mark(ctx, "unarchive", unarchiveSQL, userID, at)
}

// DeleteNotifications removes the user's notifications and returns the positions of those that were
// there.
func (s *Store) DeleteNotifications(ctx context.Context, userID string, at []inbox.Cursor) (map[inbox.Cursor]bool, error) {
	times, ids := keys(at)
	rows, err := s.pool.Query(ctx, deleteNotificationsSQL, userID, times, ids)
	if err != nil {
		return nil, fault("delete notifications", err)
	}
	deleted, err := scanCursors(rows)
	return deleted, fault("delete notifications", err)
}

// mark changes and reads back in one transaction and one round trip. What is read back is read by a
// second statement: the first one's snapshot may be older than what it waited for.
func (s *Store) mark(ctx context.Context, op, sql, userID string, cursors []inbox.Cursor) (Marked, error) {
	times, ids := keys(cursors)
	users := make([]string, len(cursors))
	for i := range users {
		users[i] = userID
	}
	batch := &pgx.Batch{}
	batch.Queue(sql, userID, times, ids)
	batch.Queue(notificationsByKeySQL, users, times, ids)
	results := s.pool.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()

	m := Marked{Notifications: make(map[inbox.Cursor]*inbox.Notification, len(cursors))}
	rows, err := results.Query()
	if err != nil {
		return Marked{}, fault(op, err)
	}
	if m.Changed, err = scanCursors(rows); err != nil {
		return Marked{}, fault(op, err)
	}
	if rows, err = results.Query(); err != nil {
		return Marked{}, fault(op, err)
	}
	if err := scanNotifications(rows, func(n *inbox.Notification) { m.Notifications[n.Cursor()] = n }); err != nil {
		return Marked{}, fault(op, err)
	}
	// The transaction ends with the batch: a write is acknowledged only when closing it has succeeded.
	return m, fault(op, results.Close())
}

func scanCursors(rows pgx.Rows) (map[inbox.Cursor]bool, error) {
	cursors := map[inbox.Cursor]bool{}
	var c inbox.Cursor
	_, err := pgx.ForEachRow(rows, []any{&c.CreatedAt, (*[16]byte)(&c.ID)}, func() error {
		cursors[c] = true
		return nil
	})
	return cursors, err
}

// The start of a mark-all fixes its time and its upper end, so that what arrives meanwhile stays unread.
// The last column tells whether something unread shares the upper end's time and lies above it.
const markAllStartSQL = `-- name: MarkAllStart
SELECT clock_timestamp(), n.created_at, n.id, EXISTS (
  SELECT FROM notifications t
  WHERE t.user_id = $1 AND t.read_at IS NULL AND t.archived_at IS NULL
    AND t.created_at = $2 AND (t.created_at, t.id) > ($2, $3)
    AND ($4::text[] IS NULL OR t.category = ANY ($4)))
FROM notifications n
WHERE n.user_id = $1 AND n.read_at IS NULL AND n.archived_at IS NULL
  AND (n.created_at, n.id) <= ($2::timestamptz, $3::uuid)
  AND ($4::text[] IS NULL OR n.category = ANY ($4))
ORDER BY n.created_at DESC, n.id DESC LIMIT 1`

// One batch of a mark-all. It starts above the batch before ($5, $6), so that it does not walk over the
// index entries which that one has left dead. The planner must not see the limit: see unreadCount.
const markAllReadSQL = `-- name: MarkAllRead
WITH target AS (
  SELECT n.created_at, n.id FROM notifications n
  WHERE n.user_id = $1 AND n.read_at IS NULL AND n.archived_at IS NULL
    AND (n.created_at, n.id) <= ($2::timestamptz, $3::uuid)
    AND (n.created_at, n.id) > ($5::timestamptz, $6::uuid)
    AND ($4::text[] IS NULL OR n.category = ANY ($4))
  ORDER BY n.created_at, n.id LIMIT (SELECT 1000)
  FOR UPDATE)
UPDATE notifications n SET read_at = $7` + markRow

// markAllBatch is the limit in markAllReadSQL.
const markAllBatch = 1000

// MarkedAll is what a mark-all has done, as a rule that a client can apply to what it has cached.
type MarkedAll struct {
	Changed int
	// Notifications created at or before Through are read at ReadAt. Both are zero where Changed is 0.
	Through, ReadAt time.Time
}

// MarkAllRead marks what is unread, not archived and in one of the categories (nil is all): up to a
// position, or all there is now where through is nil. It works in batches of 1,000, each a transaction
// of its own: after an error some may be read, and the same call goes on from there.
func (s *Store) MarkAllRead(ctx context.Context, userID string, through *inbox.Cursor, categories []string) (MarkedAll, error) {
	upperAt, upperID, _, _ := span{newer: through}.bounds()
	var top inbox.Cursor
	var isShared bool
	var m MarkedAll
	err := s.pool.QueryRow(ctx, markAllStartSQL, userID, upperAt, upperID, categories).
		Scan(&m.ReadAt, &top.CreatedAt, (*[16]byte)(&top.ID), &isShared)
	if isNoRows(err) {
		return MarkedAll{}, nil
	}
	if err != nil {
		return MarkedAll{}, fault("mark all: start", err)
	}
	m.Through = top.CreatedAt
	if through != nil {
		m.Through = through.CreatedAt
	}
	if isShared {
		// What shares the microsecond and stays unread must not be caught by the rule.
		m.Through = m.Through.Add(-time.Microsecond)
	}
	_, _, lowerAt, lowerID := span{}.bounds()
	for {
		last, n, err := s.markAllBatch(ctx, userID, top, categories, lowerAt, lowerID, m.ReadAt)
		m.Changed += n
		if err != nil || n < markAllBatch {
			return m, fault("mark all", err)
		}
		lowerAt, lowerID = at(last), id(last.ID)
	}
}

// markAllBatch marks one batch above a position and returns the newest position it changed and how many.
func (s *Store) markAllBatch(
	ctx context.Context, userID string, top inbox.Cursor, categories []string,
	lowerAt pgtype.Timestamptz, lowerID pgtype.UUID, readAt time.Time,
) (inbox.Cursor, int, error) {
	rows, err := s.pool.Query(ctx, markAllReadSQL, userID, at(top), id(top.ID), categories, lowerAt, lowerID, readAt)
	if err != nil {
		return inbox.Cursor{}, 0, err
	}
	changed, err := scanCursors(rows)
	var last inbox.Cursor
	for c := range changed {
		if c.Compare(last) > 0 {
			last = c
		}
	}
	return last, len(changed), err
}

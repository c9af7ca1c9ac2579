package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// What a user may have much of goes piece by piece along the key, each above the one before, so that no
// step walks over the entries which the others have left dead. A step answers with no row where there was
// nothing, which is more than that nothing was removed: others may have been faster.
const (
	erasePlaces = `
WITH last AS MATERIALIZED (
  SELECT created_at, id FROM (
    SELECT created_at, id FROM `
	erasePlacesOf = `
    WHERE user_id = $1 AND created_at >= $2::timestamptz AND (created_at, id) > ($2, $3::uuid)
    ORDER BY created_at, id LIMIT 5000) o
  ORDER BY created_at DESC, id DESC LIMIT 1
), gone AS (
  DELETE FROM `
	erasePlacesGone = `
  WHERE user_id = $1 AND created_at >= $2 AND created_at <= (SELECT created_at FROM last)
    AND (created_at, id) > ($2, $3) AND (created_at, id) <= ((SELECT created_at FROM last), (SELECT id FROM last))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone), created_at, id FROM last`

	eraseIDs = `
WITH seen AS MATERIALIZED (
  SELECT ARRAY(SELECT id FROM `
	eraseIDsOf = ` WHERE user_id = $1 LIMIT 5000) AS ids
), gone AS (
  DELETE FROM `
	eraseIDsGone = ` WHERE user_id = $1 AND id = ANY (ARRAY(SELECT unnest(ids) FROM seen))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone) FROM seen WHERE ids <> '{}'`
)

const (
	eraseNotificationsSQL = `-- name: EraseNotifications` + erasePlaces + `notifications` + erasePlacesOf + `notifications` + erasePlacesGone
	eraseActivitiesSQL    = `-- name: EraseActivities` + erasePlaces + `activities` + erasePlacesOf + `activities` + erasePlacesGone

	eraseQueueSQL      = `-- name: EraseQueue` + eraseIDs + `push_queue` + eraseIDsOf + `push_queue` + eraseIDsGone
	eraseDeliveriesSQL = `-- name: EraseDeliveries` + eraseIDs + `push_deliveries` + eraseIDsOf + `push_deliveries` + eraseIDsGone
	eraseItemsSQL      = `-- name: EraseItems` + eraseIDs + `items` + eraseIDsOf + `items` + eraseIDsGone
)

const eraseClaimsSQL = `-- name: EraseClaims
WITH last AS MATERIALIZED (
  SELECT key FROM (SELECT key FROM claims WHERE user_id = $1 AND key > $2::text ORDER BY key LIMIT 5000) o
  ORDER BY key DESC LIMIT 1
), gone AS (
  DELETE FROM claims WHERE user_id = $1 AND key > $2 AND key <= (SELECT key FROM last)
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone), key FROM last`

const eraseTagsSQL = `-- name: EraseTags
WITH last AS MATERIALIZED (
  SELECT tag, created_at, id FROM (
    SELECT tag, created_at, id FROM item_tags
    WHERE user_id = $1 AND tag >= $2::text AND (tag, created_at, id) > ($2, $3::timestamptz, $4::uuid)
    ORDER BY tag, created_at, id LIMIT 5000) o
  ORDER BY tag DESC, created_at DESC, id DESC LIMIT 1
), gone AS (
  DELETE FROM item_tags
  WHERE user_id = $1 AND tag >= $2 AND tag <= (SELECT tag FROM last) AND (tag, created_at, id) > ($2, $3, $4)
    AND (tag, created_at, id) <= ((SELECT tag FROM last), (SELECT created_at FROM last), (SELECT id FROM last))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone), tag, created_at, id FROM last`

// ErasePart goes over what one table has of a user.
type ErasePart struct {
	// Table is the table's name.
	Table string
	sql   string
	last  []any // the key at which the step before ended
}

// EraseParts returns a new walk over each table of which a user may have much.
func EraseParts() []*ErasePart {
	lowest := []any{never, id(inbox.MinUUID)}
	return []*ErasePart{
		{"push_queue", eraseQueueSQL, nil},
		{"push_deliveries", eraseDeliveriesSQL, nil},
		{"notifications", eraseNotificationsSQL, lowest},
		{"claims", eraseClaimsSQL, []any{""}},
		{"activities", eraseActivitiesSQL, lowest},
		{"item_tags", eraseTagsSQL, []any{"", never, id(inbox.MinUUID)}},
		{"items", eraseItemsSQL, nil},
	}
}

// EraseSome removes the next 5,000 rows of a part at most. It returns how many, and whether that was all.
func (s *Store) EraseSome(ctx context.Context, e *Erasure, p *ErasePart) (gone int, isLast bool, err error) {
	isLast = true
	err = s.hold(ctx, e, "erase "+p.Table, p.sql, append([]any{e.UserID}, p.last...), func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			n, _ := values[0].(int64)
			gone, isLast, p.last = int(n), false, values[1:]
		}
		return rows.Err()
	})
	return gone, isLast, err
}

// One statement, and so one snapshot, for all tables: of what another transaction writes meanwhile it sees
// all or nothing. What that leaves, the next pass finds:
//
//   - A dispatch that this pass does not see is there as a whole afterwards, claim, notification and queue.
//   - A plan that has taken a row of the queue which this pass sees is waited for, since both lock that row. Its deliveries
//     are beyond this snapshot, and within the next.
//   - A plan that comes for the row later finds it gone and writes nothing.
//   - A put of an item that is under way is waited for in the same manner, and its tags are the next pass's.
//   - A device whose token has moved to another user while this pass waited for it is not the user's any more,
//     and stays.
//   - A report of a send changes rows and makes none.
//
// So what tells that nothing is left is a pass that has seen nothing, not one that has removed nothing: it may
// have waited for somebody who did.
//
// The counts are taken in this order, and so are the locks: deliveries before devices, as in reports.
const eraseRestSQL = `-- name: EraseRest
WITH q AS (DELETE FROM push_queue WHERE user_id = $1 RETURNING 1),
p AS (DELETE FROM push_deliveries WHERE user_id = $1 RETURNING 1),
d AS (DELETE FROM devices WHERE user_id = $1 RETURNING 1),
n AS (
  DELETE FROM notifications
  WHERE user_id = $1 AND created_at >= (SELECT min(created_at) FROM notifications WHERE user_id = $1)
    AND created_at <= (SELECT max(created_at) FROM notifications WHERE user_id = $1) -- both ends: see oldClaims
  RETURNING 1),
c AS (DELETE FROM claims WHERE user_id = $1 RETURNING 1),
v AS (DELETE FROM activities WHERE user_id = $1 RETURNING 1),
i AS (DELETE FROM items WHERE user_id = $1 RETURNING 1),
t AS (DELETE FROM item_tags WHERE user_id = $1 RETURNING 1),
w AS (DELETE FROM seen_watermarks WHERE user_id = $1 RETURNING 1),
r AS (DELETE FROM preferences WHERE user_id = $1 RETURNING 1),
s AS (DELETE FROM settings WHERE user_id = $1 RETURNING 1),
a AS (DELETE FROM accounts WHERE user_id = $1 RETURNING 1)
SELECT EXISTS (SELECT FROM push_queue WHERE user_id = $1) OR EXISTS (SELECT FROM push_deliveries WHERE user_id = $1)
    OR EXISTS (SELECT FROM devices WHERE user_id = $1) OR EXISTS (SELECT FROM notifications WHERE user_id = $1)
    OR EXISTS (SELECT FROM claims WHERE user_id = $1) OR EXISTS (SELECT FROM activities WHERE user_id = $1)
    OR EXISTS (SELECT FROM items WHERE user_id = $1) OR EXISTS (SELECT FROM item_tags WHERE user_id = $1)
    OR EXISTS (SELECT FROM seen_watermarks WHERE user_id = $1) OR EXISTS (SELECT FROM preferences WHERE user_id = $1)
    OR EXISTS (SELECT FROM settings WHERE user_id = $1) OR EXISTS (SELECT FROM accounts WHERE user_id = $1),
  ARRAY[(SELECT count(*) FROM q), (SELECT count(*) FROM p), (SELECT count(*) FROM d), (SELECT count(*) FROM n),
    (SELECT count(*) FROM c), (SELECT count(*) FROM v), (SELECT count(*) FROM i), (SELECT count(*) FROM t),
    (SELECT count(*) FROM w), (SELECT count(*) FROM r), (SELECT count(*) FROM s), (SELECT count(*) FROM a)]`

// erasedTables are the tables in the order of eraseRestSQL's counts.
var erasedTables = [...]string{
	"push_queue", "push_deliveries", "devices", "notifications", "claims", "activities", "items", "item_tags",
	"seen_watermarks", "preferences", "settings", "accounts",
}

// EraseRest removes what all tables have of the user, as of one moment: call it when EraseSome has left
// little. It returns how many rows of each table it has removed, and whether it has seen any.
func (s *Store) EraseRest(ctx context.Context, e *Erasure) (gone map[string]int, found bool, err error) {
	var counts []int
	err = s.hold(ctx, e, "erase rest", eraseRestSQL, []any{e.UserID}, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&found, &counts}, func() error { return nil })
		return err
	})
	gone = make(map[string]int, len(counts))
	for i, n := range counts {
		gone[erasedTables[i]] = n
	}
	return gone, found, err
}

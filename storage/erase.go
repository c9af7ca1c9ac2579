package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// What a user may have much of goes piece by piece along the key, each above the one before, so that no
// step walks over the entries which the others have left dead. A step answers with how much it has seen, which
// may be more than it has removed, since others remove too, and with the key at which it has ended. The planner must
// not see the limit: see unreadRows.
const (
	erasePlaces = `
WITH last AS MATERIALIZED (
  SELECT created_at, id, count(*) OVER () AS seen FROM (
    SELECT created_at, id FROM `
	erasePlacesOf = `
    WHERE user_id = $1 AND created_at >= $2::timestamptz AND (created_at, id) > ($2, $3::uuid)
    ORDER BY created_at, id LIMIT (SELECT 1000)) o
  ORDER BY created_at DESC, id DESC LIMIT 1
), gone AS (
  DELETE FROM `
	erasePlacesGone = `
  WHERE user_id = $1 AND created_at >= $2 AND created_at <= (SELECT created_at FROM last)
    AND (created_at, id) > ($2, $3) AND (created_at, id) <= ((SELECT created_at FROM last), (SELECT id FROM last))
  RETURNING 1
)
SELECT seen, (SELECT count(*) FROM gone), created_at, id FROM last`

	eraseIDs = `
WITH seen AS MATERIALIZED (
  SELECT ARRAY(SELECT id FROM `
	eraseIDsOf = ` WHERE user_id = $1 LIMIT 1000) AS ids
), gone AS (
  DELETE FROM `
	eraseIDsGone = ` WHERE user_id = $1 AND id = ANY (ARRAY(SELECT unnest(ids) FROM seen))
  RETURNING 1
)
SELECT cardinality(ids), (SELECT count(*) FROM gone) FROM seen`
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
  SELECT key, count(*) OVER () AS seen FROM (SELECT key FROM claims WHERE user_id = $1 AND key > $2::text ORDER BY key LIMIT (SELECT 1000)) o
  ORDER BY key DESC LIMIT 1
), gone AS (
  DELETE FROM claims WHERE user_id = $1 AND key > $2 AND key <= (SELECT key FROM last)
  RETURNING 1
)
SELECT seen, (SELECT count(*) FROM gone), key FROM last`

const eraseTagsSQL = `-- name: EraseTags
WITH last AS MATERIALIZED (
  SELECT tag, created_at, id, count(*) OVER () AS seen FROM (
    SELECT tag, created_at, id FROM item_tags
    WHERE user_id = $1 AND tag >= $2::text AND (tag, created_at, id) > ($2, $3::timestamptz, $4::uuid)
    ORDER BY tag, created_at, id LIMIT (SELECT 1000)) o
  ORDER BY tag DESC, created_at DESC, id DESC LIMIT 1
), gone AS (
  DELETE FROM item_tags
  WHERE user_id = $1 AND tag >= $2 AND tag <= (SELECT tag FROM last) AND (tag, created_at, id) > ($2, $3, $4)
    AND (tag, created_at, id) <= ((SELECT tag FROM last), (SELECT created_at FROM last), (SELECT id FROM last))
  RETURNING 1
)
SELECT seen, (SELECT count(*) FROM gone), tag, created_at, id FROM last`

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

// eraseBatch is the most rows of a piece.
const eraseBatch = 1000

// EraseSome removes the next 1,000 rows of a part at most. It returns how many, and whether that was all: what
// comes later is left to FinishErasure.
func (s *Store) EraseSome(ctx context.Context, e *Erasure, p *ErasePart) (gone int, isLast bool, err error) {
	seen := 0
	args := append([]any{e.UserID}, p.last...)
	err = s.hold(ctx, e, "erase "+p.Table, func(b *pgx.Batch) {
		b.Queue(lockItemsSQL, e.UserID) // or a put that sees an item's tags would leave them as they are, and they would go
		b.Queue(p.sql, args...).Query(func(rows pgx.Rows) error {
			p.last = make([]any, len(args)-1)
			targets := []any{&seen, &gone}
			for i := range p.last {
				targets = append(targets, &p.last[i])
			}
			_, err := pgx.ForEachRow(rows, targets, func() error { return nil })
			return err
		})
	})
	return gone, seen < eraseBatch, err
}

// One statement, and so one snapshot, for all tables: of what another transaction writes meanwhile it sees
// all or nothing. A dispatch that it does not see is there as a whole afterwards. What changes the rows that it
// sees, it waits for, and then removes them as they are; what comes after it finds them gone:
//
//   - A plan takes the row of the queue first. Where it was the faster, its deliveries are beyond this snapshot;
//     where it was not, it writes none.
//   - A put of an item is over, or has not begun: both take the lock on the user's items.
//   - A registration may have moved a device's token to another user: then the device is that user's, and stays.
//   - A report of a send or a receipt, a mark and a change of settings make no new rows of their own.
//
// So only deliveries without a notification and tags without an item can be left. The next statement sees all of
// those, since this one has waited for who wrote them. It can't cut in two what has come meanwhile.
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
SELECT ARRAY[(SELECT count(*) FROM q), (SELECT count(*) FROM p), (SELECT count(*) FROM d), (SELECT count(*) FROM n),
    (SELECT count(*) FROM c), (SELECT count(*) FROM v), (SELECT count(*) FROM i), (SELECT count(*) FROM t),
    (SELECT count(*) FROM w), (SELECT count(*) FROM r), (SELECT count(*) FROM s), (SELECT count(*) FROM a)]`

// erasedTables are the tables in the order of eraseRestSQL's counts.
var erasedTables = [...]string{
	"push_queue", "push_deliveries", "devices", "notifications", "claims", "activities", "items", "item_tags",
	"seen_watermarks", "preferences", "settings", "accounts",
}

const eraseHalvesSQL = `-- name: EraseHalves
WITH p AS (
  DELETE FROM push_deliveries p WHERE p.user_id = $1 AND NOT EXISTS (
    SELECT FROM notifications n WHERE n.user_id = $1 AND n.created_at = p.notification_at AND n.id = p.notification_id)
  RETURNING 1
), t AS (
  DELETE FROM item_tags t WHERE t.user_id = $1 AND NOT EXISTS (
    SELECT FROM items i WHERE i.user_id = $1 AND i.id = t.id)
  RETURNING 1
)
SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM t)`

const endErasureSQL = `-- name: EndErasure
DELETE FROM erasures WHERE user_id = $1 AND id = $2 RETURNING clock_timestamp() - began_at`

// FinishErasure removes what all tables have of the user as of one moment, and the erasure itself: call it when
// EraseSome has left little. It returns how many rows of each table it has removed, and how long all took.
func (s *Store) FinishErasure(ctx context.Context, e *Erasure) (gone map[string]int, took time.Duration, err error) {
	var counts []int
	var deliveries, tags int
	err = s.hold(ctx, e, "finish erasure", func(b *pgx.Batch) {
		b.Queue(lockItemsSQL, e.UserID)
		b.Queue(eraseRestSQL, e.UserID).QueryRow(func(row pgx.Row) error { return row.Scan(&counts) })
		b.Queue(eraseHalvesSQL, e.UserID).QueryRow(func(row pgx.Row) error { return row.Scan(&deliveries, &tags) })
		b.Queue(endErasureSQL, e.UserID, id(e.ID)).QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&took); !isNoRows(err) {
				return err
			}
			return nil // hold knows
		})
	})
	if err != nil {
		return nil, 0, err
	}
	gone = make(map[string]int, len(counts))
	for i, n := range counts {
		gone[erasedTables[i]] = n
	}
	gone["push_deliveries"] += deliveries
	gone["item_tags"] += tags
	return gone, took, nil
}

package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// QueuedPush is a notification whose pushes are to be planned.
type QueuedPush struct {
	ID               int64
	UserID, Category string
}

// PushBatch is the most notifications that ClaimPushes returns.
const PushBatch = 500

// A lease in place of a lock: what is asked meanwhile, preferences for example, must hold no transaction
// open. Planning twice is harmless.
//
// Here and in the other claims the limit is a constant and what is claimed an array: the planner, which
// would take an unknown limit for a tenth of the table, then keeps to the indexes.
const claimPushesSQL = `-- name: ClaimPushes
UPDATE push_queue q SET leased_until = clock_timestamp() + $1::interval
WHERE q.id = ANY (ARRAY(
  SELECT id FROM push_queue WHERE leased_until < clock_timestamp()
  ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED))
RETURNING q.id, q.user_id, q.category`

// ClaimPushes takes the oldest notifications that nobody else plans, for the length of a lease.
func (s *Store) ClaimPushes(ctx context.Context, lease time.Duration) ([]QueuedPush, error) {
	rows, err := s.pool.Query(ctx, claimPushesSQL, lease)
	if err != nil {
		return nil, fault("claim pushes", err)
	}
	claimed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (QueuedPush, error) {
		var q QueuedPush
		return q, row.Scan(&q.ID, &q.UserID, &q.Category)
	})
	return claimed, fault("claim pushes", err)
}

// A delivery for each device that is switched on, suppressed where the user's own settings or the caller
// ($2) say no. What was planned before is passed over.
const planPushesSQL = `-- name: PlanPushes
WITH taken AS (
  DELETE FROM push_queue WHERE id = ANY ($1::bigint[])
  RETURNING id, user_id, notification_at, notification_id, category
), planned AS (
  SELECT t.*, t.id = ANY ($2::bigint[]) OR $3 AND EXISTS (
    SELECT FROM preferences p
    WHERE p.user_id = t.user_id AND p.category = t.category AND p.channel = 'PUSH' AND NOT p.enabled) AS is_muted
  FROM taken t
)
INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state, error, settled_at)
SELECT p.user_id, p.notification_at, p.notification_id, d.id, d.provider,
  CASE WHEN p.is_muted THEN 'suppressed' ELSE 'queued' END,
  CASE WHEN p.is_muted THEN 'preference' END, CASE WHEN p.is_muted THEN clock_timestamp() END
FROM planned p
JOIN devices d ON d.user_id = p.user_id AND d.disabled_at IS NULL
ORDER BY p.id
ON CONFLICT DO NOTHING`

// PlanPushes writes a delivery for each device of each queued notification, and takes them off the queue.
// Those in muted are suppressed; with ownSettings also those whose category the user's settings here switch
// off for pushes. It returns how many deliveries it has written.
func (s *Store) PlanPushes(ctx context.Context, queued, muted []int64, ownSettings bool) (int, error) {
	tag, err := s.pool.Exec(ctx, planPushesSQL, queued, muted, ownSettings)
	return int(tag.RowsAffected()), fault("plan pushes", err)
}

// DropBatch is the most notifications that DropPushes takes off the queue.
const DropBatch = 5000

const dropPushesSQL = `-- name: DropPushes
DELETE FROM push_queue WHERE id = ANY (ARRAY(
  SELECT id FROM push_queue WHERE created_at < $1 ORDER BY id LIMIT 5000))`

// DropPushes takes notifications off the queue that nobody has planned since a time, the oldest first, at
// most DropBatch, and returns how many those were.
func (s *Store) DropPushes(ctx context.Context, before time.Time) (int, error) {
	tag, err := s.pool.Exec(ctx, dropPushesSQL, before)
	return int(tag.RowsAffected()), fault("drop pushes", err)
}

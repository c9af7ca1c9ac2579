package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// What is old is the oldest end of an index, and a batch is a piece of that: from the oldest to the last of
// so many. Both ends bound the piece, for the planner's sake: of two it knows that there is little between
// them, and keeps to the index.
//
// The next batch begins above the last ($2), so that it does not walk over the entries which this one has
// left dead. What shares the last one's microsecond is in the batch too, and so is not passed over.
const (
	oldClaims = `
WITH piece AS MATERIALIZED (
  SELECT min(created_at) AS first, max(created_at) AS last FROM (
    SELECT created_at FROM claims WHERE created_at < $1::timestamptz AND created_at > $2::timestamptz
    ORDER BY created_at LIMIT 500) o`
	oldClaimsHere = ` FROM claims
WHERE created_at >= (SELECT first FROM piece) AND created_at <= (SELECT last FROM piece)`

	oldPushes = `
WITH piece AS MATERIALIZED (
  SELECT min(created_at) AS first, max(created_at) AS last FROM (
    SELECT created_at FROM push_deliveries
    WHERE created_at < $1::timestamptz AND created_at > $2::timestamptz AND settled_at IS NOT NULL
    ORDER BY created_at LIMIT 500) o`
	oldPushesHere = ` FROM push_deliveries
WHERE created_at >= (SELECT first FROM piece) AND created_at <= (SELECT last FROM piece) AND settled_at IS NOT NULL`

	countOld = `
), gone AS (
SELECT`
	deleteOld = `
), gone AS (
DELETE`
	returning = `
RETURNING 1`
	lastOld = `
)
SELECT (SELECT count(*) FROM gone), last FROM piece WHERE last IS NOT NULL`
)

const (
	purgeClaimsSQL = `-- name: PurgeClaims` + oldClaims + deleteOld + oldClaimsHere + returning + lastOld
	countClaimsSQL = `-- name: CountClaims` + oldClaims + countOld + oldClaimsHere + lastOld

	purgePushesSQL = `-- name: PurgePushes` + oldPushes + deleteOld + oldPushesHere + returning + lastOld
	countPushesSQL = `-- name: CountPushes` + oldPushes + countOld + oldPushesHere + lastOld
)

// Times of Belfry's own are nearly distinct. When activities expire, their authors say, and all may do so at one
// midnight: here a batch ends between two rows and not between two times.
const (
	oldActivities = `
WITH last AS MATERIALIZED (
  SELECT expires_at, user_id, created_at, id FROM (
    SELECT expires_at, user_id, created_at, id FROM activities
    WHERE expires_at < $1::timestamptz
      AND (expires_at, user_id, created_at, id) > ($2::timestamptz, $3::text, $4::timestamptz, $5::uuid)
    ORDER BY expires_at, user_id, created_at, id LIMIT 500) o
  ORDER BY expires_at DESC, user_id DESC, created_at DESC, id DESC LIMIT 1`
	oldActivitiesHere = ` FROM activities
WHERE expires_at >= $2 AND expires_at <= (SELECT expires_at FROM last)
  AND (expires_at, user_id, created_at, id) > ($2, $3, $4, $5)
  AND (expires_at, user_id, created_at, id) <= ((SELECT expires_at FROM last), (SELECT user_id FROM last),
    (SELECT created_at FROM last), (SELECT id FROM last))`
	lastActivity = `
)
SELECT (SELECT count(*) FROM gone), expires_at, user_id, created_at, id FROM last`
)

const (
	purgeActivitiesSQL = `-- name: PurgeActivities` + oldActivities + deleteOld + oldActivitiesHere + returning + lastActivity
	countActivitiesSQL = `-- name: CountActivities` + oldActivities + countOld + oldActivitiesHere + lastActivity
)

// Claims are those made before a time.
func (w *Sweep) Claims(before time.Time) Purge {
	return &agePurge{w.conn, "purge claims", purgeClaimsSQL, countClaimsSQL, before, []any{never}}
}

// Activities are those that expired before a time.
func (w *Sweep) Activities(before time.Time) Purge {
	lowest := []any{never, "", never, id(inbox.MinUUID)}
	return &agePurge{w.conn, "purge activities", purgeActivitiesSQL, countActivitiesSQL, before, lowest}
}

// Pushes are the lines of the ledger that are settled and were planned before a time.
func (w *Sweep) Pushes(before time.Time) Purge {
	return &agePurge{w.conn, "purge pushes", purgePushesSQL, countPushesSQL, before, []any{never}}
}

// never lies before every time.
var never = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}

// agePurge is a Purge along an index of times.
type agePurge struct {
	conn                *pgx.Conn
	op                  string
	removeSQL, countSQL string
	before              time.Time
	last                []any // the key at which the batch before ended
}

// Next implements Purge.
func (p *agePurge) Next(ctx context.Context, remove bool) (Purged, error) {
	sql := p.countSQL
	if remove {
		sql = p.removeSQL
	}
	var b Purged
	last := make([]any, len(p.last))
	targets := []any{&b.Rows}
	for i := range last {
		targets = append(targets, &last[i])
	}
	err := p.conn.QueryRow(ctx, sql, append([]any{p.before}, p.last...)...).Scan(targets...)
	if isNoRows(err) {
		return Purged{IsLast: true}, nil
	}
	p.last = last
	return b, fault(p.op, err)
}

package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
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

	oldActivities = `
WITH piece AS MATERIALIZED (
  SELECT min(expires_at) AS first, max(expires_at) AS last FROM (
    SELECT expires_at FROM activities WHERE expires_at < $1::timestamptz AND expires_at > $2::timestamptz
    ORDER BY expires_at LIMIT 500) o`
	oldActivitiesHere = ` FROM activities
WHERE expires_at >= (SELECT first FROM piece) AND expires_at <= (SELECT last FROM piece)`

	oldPushes = `
WITH piece AS MATERIALIZED (
  SELECT min(created_at) AS first, max(created_at) AS last FROM (
    SELECT created_at FROM push_deliveries
    WHERE created_at < $1::timestamptz AND created_at > $2::timestamptz AND settled_at IS NOT NULL
    ORDER BY created_at LIMIT 500) o`
	oldPushesHere = ` FROM push_deliveries
WHERE created_at >= (SELECT first FROM piece) AND created_at <= (SELECT last FROM piece) AND settled_at IS NOT NULL`

	countOld = `
)
SELECT count(*), (SELECT last FROM piece)`
	deleteOld = `
), gone AS (
DELETE`
	countGone = ` RETURNING 1)
SELECT count(*), (SELECT last FROM piece) FROM gone`
)

const (
	purgeClaimsSQL = `-- name: PurgeClaims` + oldClaims + deleteOld + oldClaimsHere + countGone
	countClaimsSQL = `-- name: CountClaims` + oldClaims + countOld + oldClaimsHere

	purgeActivitiesSQL = `-- name: PurgeActivities` + oldActivities + deleteOld + oldActivitiesHere + countGone
	countActivitiesSQL = `-- name: CountActivities` + oldActivities + countOld + oldActivitiesHere

	purgePushesSQL = `-- name: PurgePushes` + oldPushes + deleteOld + oldPushesHere + countGone
	countPushesSQL = `-- name: CountPushes` + oldPushes + countOld + oldPushesHere
)

// Claims are those made before a time.
func (w *Sweep) Claims(before time.Time) Purge {
	return &agePurge{w.conn, "purge claims", purgeClaimsSQL, countClaimsSQL, before, never}
}

// Activities are those that expired before a time.
func (w *Sweep) Activities(before time.Time) Purge {
	return &agePurge{w.conn, "purge activities", purgeActivitiesSQL, countActivitiesSQL, before, never}
}

// Pushes are the lines of the ledger that are settled and were planned before a time.
func (w *Sweep) Pushes(before time.Time) Purge {
	return &agePurge{w.conn, "purge pushes", purgePushesSQL, countPushesSQL, before, never}
}

// never lies before every time.
var never = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}

// agePurge is a Purge along an index of times.
type agePurge struct {
	conn                *pgx.Conn
	op                  string
	removeSQL, countSQL string
	before              time.Time
	last                pgtype.Timestamptz // where the batch before ended
}

// Next implements Purge.
func (p *agePurge) Next(ctx context.Context, remove bool) (Purged, error) {
	sql := p.countSQL
	if remove {
		sql = p.removeSQL
	}
	var b Purged
	var last pgtype.Timestamptz
	if err := p.conn.QueryRow(ctx, sql, p.before, p.last).Scan(&b.Rows, &last); err != nil {
		return Purged{}, fault(p.op, err)
	}
	b.IsLast = !last.Valid
	p.last = last
	return b, nil
}

package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// No index has all users' notifications by age: the primary key, and the index of what is done, have each
// user's. So a walk goes from user to user, by one probe of the index each, and takes the old end of each:
// $1 is where it begins, there above ($2, $3), where the batch before ended, and in the others above ($5, $6).
// A user of whom nothing is old is a row without a position, so that the next batch begins behind.
//
// Of the limits, the planner must not see the one of a user's rows, for the reason given at unreadRows, and must
// see that of all rows: it is low, so each row to be deleted is looked up. What a limit cuts off is what the
// next batch begins with, since the walk comes in its order.
const (
	walk = `
WITH RECURSIVE walk (user_id, n) AS (
  SELECT $1::text, 0
  UNION ALL
  SELECT u.user_id, w.n + 1
  FROM walk w CROSS JOIN LATERAL (
    SELECT n.user_id FROM notifications n WHERE n.user_id > w.user_id`
	walkOld = `
    ORDER BY n.user_id LIMIT 1) u
  WHERE w.n < 249
), old AS MATERIALIZED (
  SELECT w.user_id, o.created_at, o.id
  FROM walk w LEFT JOIN LATERAL (
    SELECT n.created_at, n.id FROM notifications n
    WHERE n.user_id = w.user_id AND n.created_at < $4::timestamptz
      AND (n.created_at, n.id) > (CASE WHEN w.n = 0 THEN $2::timestamptz ELSE $5::timestamptz END,
        CASE WHEN w.n = 0 THEN $3::uuid ELSE $6::uuid END)`
	walkEnd = `
    ORDER BY n.created_at, n.id LIMIT (SELECT 250)) o ON true
  LIMIT 250
)`
	// Rows go from old to new, which is the order in which marks lock them: see markTarget.
	deleteWalked = `, gone AS (
  DELETE FROM notifications n USING old o
  WHERE n.user_id = o.user_id AND n.created_at = o.created_at AND n.id = o.id`
	walked = `
  RETURNING n.user_id, n.read_at IS NULL AND n.archived_at IS NULL AS is_unread
)
SELECT l.user_id, l.created_at, l.id, (SELECT count(*) FROM gone),
  ARRAY(SELECT DISTINCT user_id FROM gone WHERE is_unread)`
	countWalked = `, counted AS (
  SELECT count(created_at) AS rows FROM old
)
SELECT l.user_id, l.created_at, l.id, (SELECT rows FROM counted), ARRAY[]::text[]`
	lastWalked = `
FROM old l ORDER BY l.user_id DESC, l.created_at DESC, l.id DESC LIMIT 1`

	// ofList are the rows of one list of what is done: see the index notifications_done.
	ofList = ` AND (n.read_at IS NOT NULL OR n.archived_at IS NOT NULL)`
	inList = ofList + `
  AND (CASE WHEN n.archived_at IS NULL THEN 0 WHEN n.read_at IS NULL THEN 1 ELSE 2 END) = $7::int`
)

const (
	walkAll  = walk + walkOld + walkEnd
	walkDone = walk + ofList + walkOld + inList + walkEnd
)

const (
	purgeNotificationsSQL = `-- name: PurgeNotifications` + walkAll + deleteWalked + walked + lastWalked
	countNotificationsSQL = `-- name: CountNotifications` + walkAll + countWalked + lastWalked

	purgeDoneSQL = `-- name: PurgeDone` + walkDone + deleteWalked + inList + walked + lastWalked
	countDoneSQL = `-- name: CountDone` + walkDone + countWalked + lastWalked
)

// The lists of what is done and read.
const (
	listRead         = 0
	listReadArchived = 2
)

// Notifications are those created before a time.
func (w *Sweep) Notifications(before time.Time) Purge {
	return &expiry{conn: w.conn, removeSQL: purgeNotificationsSQL, countSQL: countNotificationsSQL, before: before}
}

// ReadNotifications are those created from one time to before another that are read. The earlier time is
// where the notifications end that go whether or not they are read; zero for none.
func (w *Sweep) ReadNotifications(from, before time.Time) []Purge {
	purges := make([]Purge, 0, 2)
	// One list after the other: within a transaction a user's rows are locked from old to new.
	for _, list := range []int{listRead, listReadArchived} {
		purges = append(purges, &expiry{
			conn: w.conn, removeSQL: purgeDoneSQL, countSQL: countDoneSQL, before: before, from: from, list: []any{list},
		})
	}
	return purges
}

// expiry is a Purge of notifications: a walk over all users.
type expiry struct {
	conn                *pgx.Conn
	removeSQL, countSQL string
	before, from        time.Time
	list                []any // the argument of the statements that come by list

	// The walk has come to this position of this user.
	userID string
	last   inbox.Cursor
}

// Next implements Purge.
func (e *expiry) Next(ctx context.Context, remove bool) (Purged, error) {
	sql := e.countSQL
	if remove {
		sql = e.removeSQL
	}
	fromAt, fromID := e.lower()
	aboveAt, aboveID := fromAt, fromID
	if e.last != (inbox.Cursor{}) {
		aboveAt, aboveID = at(e.last), id(e.last.ID)
	}
	args := append([]any{e.userID, aboveAt, aboveID, e.before, fromAt, fromID}, e.list...)
	var b Purged
	var userID string
	var lastAt pgtype.Timestamptz
	var lastID pgtype.UUID
	err := e.conn.QueryRow(ctx, sql, args...).Scan(&userID, &lastAt, &lastID, &b.Rows, &b.Users)
	if err != nil {
		return Purged{}, fault("purge notifications", err)
	}
	// The user with whom it begins is always among those it finds.
	b.IsLast = userID == e.userID && !lastAt.Valid
	e.userID, e.last = userID, inbox.Cursor{}
	if lastAt.Valid {
		e.last = inbox.Cursor{CreatedAt: lastAt.Time, ID: lastID.Bytes}
	}
	return b, nil
}

// lower returns the position above which every user's rows are looked at.
func (e *expiry) lower() (pgtype.Timestamptz, pgtype.UUID) {
	if e.from.IsZero() {
		return never, id(inbox.MinUUID)
	}
	below := inbox.Cursor{CreatedAt: e.from, ID: inbox.MinUUID}.JustBelow()
	return at(below), id(below.ID)
}

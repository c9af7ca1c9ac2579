package storage

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// No index has all users' notifications by age: the primary key and the index of what is done have each
// user's. So a walk goes from user to user ($1 is where it begins), by one probe of the index each and at most a
// thousand in one statement, and takes the old end of each. In the first user it begins above ($2, $3), where
// the batch before ended, in the others above ($5, $6).
//
// Both lists come in the order of the walk, so that what a limit cuts off is what the next batch begins with.
// Should a planner ever think of another order, the next sweep finds what this one has passed over.
const (
	walk = `
WITH RECURSIVE walk (user_id, n) AS (
  SELECT $1::text, 0
  UNION ALL
  SELECT u.user_id, w.n + 1
  FROM walk w CROSS JOIN LATERAL (`
	walkOld = `) u
  WHERE w.n < 1000
), old AS (
  SELECT w.user_id, o.created_at, o.id
  FROM walk w LEFT JOIN LATERAL (
    SELECT n.created_at, n.id FROM notifications n
    WHERE n.user_id = w.user_id AND n.created_at < $4::timestamptz
      AND (n.created_at, n.id) > (CASE WHEN w.n = 0 THEN $2::timestamptz ELSE $5::timestamptz END,
        CASE WHEN w.n = 0 THEN $3::uuid ELSE $6::uuid END)`
	walkEnd = `
    ORDER BY n.created_at, n.id LIMIT 5000) o ON true
  LIMIT 5000
)
SELECT DISTINCT ON (user_id) user_id, created_at, id, count(created_at) OVER (PARTITION BY user_id)
FROM old ORDER BY user_id, created_at DESC, id DESC`

	isDone = `(read_at IS NOT NULL OR archived_at IS NOT NULL)`
	// inList is one of the lists of what is done: see the index notifications_done.
	inList = `
  (CASE WHEN archived_at IS NULL THEN 0 WHEN read_at IS NULL THEN 1 ELSE 2 END) = `
)

const oldNotificationsSQL = `-- name: OldNotifications` + walk + `
    SELECT user_id FROM notifications WHERE user_id > w.user_id ORDER BY user_id LIMIT 1` + walkOld + walkEnd

const oldDoneSQL = `-- name: OldDone` + walk + `
    SELECT user_id FROM notifications WHERE user_id > w.user_id AND ` + isDone + ` ORDER BY user_id LIMIT 1` + walkOld + `
      AND ` + isDone + ` AND` + inList + `$7::int` + walkEnd

// One user's piece of a batch, both ends known. Rows go from old to new, which is the order in which marks
// lock them: see markTarget.
const (
	deletePiece = `
WITH gone AS (
  DELETE FROM notifications
  WHERE user_id = $1 AND created_at >= $2 AND created_at <= $4
    AND (created_at, id) > ($2::timestamptz, $3::uuid) AND (created_at, id) <= ($4::timestamptz, $5::uuid)`
	countPiece = `
  RETURNING read_at IS NULL AND archived_at IS NULL AS is_unread
)
SELECT count(*), coalesce(bool_or(is_unread), false) FROM gone`
)

const purgeNotificationsSQL = `-- name: PurgeNotifications` + deletePiece + countPiece

const purgeDoneSQL = `-- name: PurgeDone` + deletePiece + `
    AND ` + isDone + ` AND` + inList + `$6::int` + countPiece

// The lists of what is done and read.
const (
	listRead         = 0
	listReadArchived = 2
)

// Notifications are those created before a time.
func (w *Sweep) Notifications(before time.Time) Purge {
	return &expiry{conn: w.conn, findSQL: oldNotificationsSQL, removeSQL: purgeNotificationsSQL, before: before}
}

// ReadNotifications are those created from one time to before another that are read. The earlier time is
// where the notifications end that go whether or not they are read; zero for none.
func (w *Sweep) ReadNotifications(from, before time.Time) []Purge {
	purges := make([]Purge, 0, 2)
	// One list after the other: within a transaction a user's rows are locked from old to new.
	for _, list := range []int{listRead, listReadArchived} {
		purges = append(purges, &expiry{
			conn: w.conn, findSQL: oldDoneSQL, removeSQL: purgeDoneSQL, before: before, notBefore: from, list: []any{list},
		})
	}
	return purges
}

// expiry is a Purge of notifications: a walk over all users.
type expiry struct {
	conn               *pgx.Conn
	findSQL, removeSQL string
	before, notBefore  time.Time
	list               []any // the list, an argument of both statements that come by list

	// The walk has come to this position of this user.
	userID string
	last   inbox.Cursor
}

// piece is what is old of one user's.
type piece struct {
	userID string
	rows   int
	last   inbox.Cursor
}

// Next implements Purge.
func (e *expiry) Next(ctx context.Context, remove bool) (Purged, error) {
	pieces, err := e.find(ctx)
	if err != nil {
		return Purged{}, fault("old notifications", err)
	}
	var b Purged
	for _, p := range pieces {
		b.Rows += p.rows
	}
	if remove && b.Rows > 0 {
		b.Rows = 0
		if err := e.remove(ctx, pieces, &b); err != nil {
			return Purged{}, fault("purge notifications", err)
		}
	}
	// The user it begins with is always among those it finds.
	end := pieces[len(pieces)-1]
	b.IsLast = end.userID == e.userID && end.rows == 0
	if end.userID != e.userID || end.rows > 0 {
		e.userID, e.last = end.userID, end.last
	}
	return b, nil
}

// above returns the position above which a user's rows are looked at.
func (e *expiry) above(userID string) (pgtype.Timestamptz, pgtype.UUID) {
	if userID == e.userID && e.last != (inbox.Cursor{}) {
		return at(e.last), id(e.last.ID)
	}
	return e.from()
}

// from returns the position above which every user's rows are looked at.
func (e *expiry) from() (pgtype.Timestamptz, pgtype.UUID) {
	if e.notBefore.IsZero() {
		return never, id(inbox.MinUUID)
	}
	below := inbox.Cursor{CreatedAt: e.notBefore, ID: inbox.MinUUID}.JustBelow()
	return at(below), id(below.ID)
}

func (e *expiry) find(ctx context.Context) ([]piece, error) {
	aboveAt, aboveID := e.above(e.userID)
	fromAt, fromID := e.from()
	args := append([]any{e.userID, aboveAt, aboveID, e.before, fromAt, fromID}, e.list...)
	rows, err := e.conn.Query(ctx, e.findSQL, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (piece, error) {
		var p piece
		var lastAt pgtype.Timestamptz
		var lastID pgtype.UUID
		err := row.Scan(&p.userID, &lastAt, &lastID, &p.rows)
		if lastAt.Valid {
			p.last = inbox.Cursor{CreatedAt: lastAt.Time, ID: lastID.Bytes}
		}
		return p, err
	})
}

// remove removes the pieces in one transaction and one round trip, and adds to b what went.
func (e *expiry) remove(ctx context.Context, pieces []piece, b *Purged) error {
	batch := &pgx.Batch{}
	for _, p := range pieces {
		if p.rows == 0 {
			continue
		}
		aboveAt, aboveID := e.above(p.userID)
		args := append([]any{p.userID, aboveAt, aboveID, at(p.last), id(p.last.ID)}, e.list...)
		batch.Queue(e.removeSQL, args...).QueryRow(func(row pgx.Row) error {
			var rows int
			var hadUnread bool
			err := row.Scan(&rows, &hadUnread)
			b.Rows += rows
			if hadUnread {
				b.Users = append(b.Users, p.userID)
			}
			return err
		})
	}
	return e.conn.SendBatch(ctx, batch).Close()
}

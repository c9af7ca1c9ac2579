package storage

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"belfry/inbox"
)

// Erasure is the removal of a user in progress. Its steps may be repeated, and taken by several processes
// at once: whoever takes one holds the erasure's row meanwhile.
type Erasure struct {
	UserID string
	// ID stands for the user in the log. It is random.
	ID inbox.UUID
	// SearchedUser and Searched are how far ForgetActor has come.
	SearchedUser string
	Searched     inbox.Cursor
}

const erasureColumns = `user_id, id, searched_user, searched_at, searched_id`

const beginErasureSQL = `-- name: BeginErasure
INSERT INTO erasures (user_id) VALUES ($1)
ON CONFLICT (user_id) DO UPDATE SET touched_at = clock_timestamp()
RETURNING ` + erasureColumns

// BeginErasure begins to erase a user, or goes on where that was begun and has not come to its end.
func (s *Store) BeginErasure(ctx context.Context, userID string) (*Erasure, error) {
	e, err := scanErasure(s.pool.QueryRow(ctx, beginErasureSQL, userID))
	return e, fault("begin erasure", err)
}

const resumeErasureSQL = `-- name: ResumeErasure
UPDATE erasures SET touched_at = clock_timestamp()
WHERE user_id = (
  SELECT user_id FROM erasures WHERE touched_at < clock_timestamp() - $1::interval
  ORDER BY touched_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING ` + erasureColumns

// ResumeErasure returns an erasure at which nobody has worked for so long, and false where there is none.
func (s *Store) ResumeErasure(ctx context.Context, idle time.Duration) (*Erasure, bool, error) {
	e, err := scanErasure(s.pool.QueryRow(ctx, resumeErasureSQL, idle))
	if isNoRows(err) {
		return nil, false, nil
	}
	return e, err == nil, fault("resume erasure", err)
}

func scanErasure(row pgx.Row) (*Erasure, error) {
	e := &Erasure{}
	err := row.Scan(&e.UserID, (*[16]byte)(&e.ID), &e.SearchedUser, &e.Searched.CreatedAt, (*[16]byte)(&e.Searched.ID))
	return e, err
}

// The first statement of each step: it holds the row, so that two processes at one erasure take turns, says
// that somebody is at work, and keeps how far the search has come.
const holdErasureSQL = `-- name: HoldErasure
UPDATE erasures SET touched_at = clock_timestamp(), searched_user = $3, searched_at = $4, searched_id = $5
WHERE user_id = $1 AND id = $2`

// ErrErased says that another process has brought the erasure to its end.
var ErrErased = errors.New("erased by another process")

// hold takes a step, whose only statement's rows scan reads.
func (s *Store) hold(ctx context.Context, e *Erasure, op, sql string, args []any, scan func(pgx.Rows) error) error {
	isHeld := false
	batch := &pgx.Batch{} // and so a transaction
	batch.Queue(holdErasureSQL, e.UserID, id(e.ID), e.SearchedUser, at(e.Searched), id(e.Searched.ID)).
		Exec(func(tag pgconn.CommandTag) error {
			isHeld = tag.RowsAffected() > 0
			return nil
		})
	batch.Queue(sql, args...).Query(scan)
	err := s.pool.SendBatch(ctx, batch).Close()
	if err == nil && !isHeld {
		err = ErrErased
	}
	return fault(op, err)
}

// The whole table is walked along its primary key, since no index has the actors: see decision 15.
const forgetActorSQL = `-- name: ForgetActor
WITH looked AS MATERIALIZED (
  SELECT user_id, created_at, id, actor_id FROM notifications
  WHERE (user_id, created_at, id) > ($2::text, $3::timestamptz, $4::uuid)
  ORDER BY user_id, created_at, id LIMIT 10000
), forgotten AS (
  UPDATE notifications n SET actor_id = NULL FROM looked l
  WHERE l.actor_id = $1 AND n.user_id = l.user_id AND n.created_at = l.created_at AND n.id = l.id AND n.actor_id = $1
  RETURNING n.user_id
)
SELECT user_id, created_at, id, (SELECT count(*) FROM forgotten), ARRAY(SELECT DISTINCT user_id FROM forgotten)
FROM looked ORDER BY user_id DESC, created_at DESC, id DESC LIMIT 1`

// Forgotten is what one step of ForgetActor has done.
type Forgotten struct {
	Rows int
	// Users are those whose notifications have lost their actor.
	Users []string
	// IsLast says that all notifications are searched.
	IsLast bool
}

// ForgetActor looks at the next 10,000 of all notifications and takes the user off them as their actor.
func (s *Store) ForgetActor(ctx context.Context, e *Erasure) (Forgotten, error) {
	f := Forgotten{IsLast: true}
	args := []any{e.UserID, e.SearchedUser, at(e.Searched), id(e.Searched.ID)}
	user, position := e.SearchedUser, e.Searched
	err := s.hold(ctx, e, "forget actor", forgetActorSQL, args, func(rows pgx.Rows) error {
		targets := []any{&user, &position.CreatedAt, (*[16]byte)(&position.ID), &f.Rows, &f.Users}
		_, err := pgx.ForEachRow(rows, targets, func() error {
			f.IsLast = false
			return nil
		})
		return err
	})
	if err != nil {
		return Forgotten{}, err
	}
	e.SearchedUser, e.Searched = user, position
	return f, nil
}

const endErasureSQL = `-- name: EndErasure
DELETE FROM erasures WHERE user_id = $1 AND id = $2 RETURNING clock_timestamp() - began_at`

// EndErasure forgets the erasure itself and returns how long it took. It returns ErrErased where another
// process has done so.
func (s *Store) EndErasure(ctx context.Context, e *Erasure) (time.Duration, error) {
	var took time.Duration
	err := s.pool.QueryRow(ctx, endErasureSQL, e.UserID, id(e.ID)).Scan(&took)
	if isNoRows(err) {
		err = ErrErased
	}
	return took, fault("end erasure", err)
}

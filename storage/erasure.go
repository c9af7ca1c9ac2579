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

// hold takes a step: one transaction of what queue adds to a batch. Its error is ErrErased where another process
// has brought the erasure to its end meanwhile.
func (s *Store) hold(ctx context.Context, e *Erasure, op string, queue func(*pgx.Batch)) error {
	isHeld := false
	batch := &pgx.Batch{}
	batch.Queue(holdErasureSQL, e.UserID, id(e.ID), e.SearchedUser, at(e.Searched), id(e.Searched.ID)).
		Exec(func(tag pgconn.CommandTag) error {
			isHeld = tag.RowsAffected() > 0
			return nil
		})
	queue(batch)
	err := s.pool.SendBatch(ctx, batch).Close()
	if err == nil && !isHeld {
		err = ErrErased
	}
	return fault(op, err)
}

// The whole table is walked along its primary key, since no index has the actors: see doc/decisions/0020-an-erasure-in-steps.md.
const forgetActorSQL = `-- name: ForgetActor
WITH looked AS MATERIALIZED (
  SELECT user_id, created_at, id, actor_id FROM notifications
  WHERE (user_id, created_at, id) > ($2::text, $3::timestamptz, $4::uuid)
  ORDER BY user_id, created_at, id LIMIT 2000
), forgotten AS (
  UPDATE notifications n SET actor_id = NULL FROM looked l
  WHERE l.actor_id = $1 AND n.user_id = l.user_id AND n.created_at = l.created_at AND n.id = l.id AND n.actor_id = $1
  RETURNING n.user_id
)
SELECT user_id, created_at, id, (SELECT count(*) FROM looked), (SELECT count(*) FROM forgotten),
  ARRAY(SELECT DISTINCT user_id FROM forgotten)
FROM looked ORDER BY user_id DESC, created_at DESC, id DESC LIMIT 1`

// searchBatch is the limit in forgetActorSQL.
const searchBatch = 2000

// Forgotten is what one step of ForgetActor has done.
type Forgotten struct {
	Rows int
	// Users are those whose notifications have lost their actor.
	Users []string
	// IsLast says that all notifications are searched.
	IsLast bool
}

// ForgetActor looks at the next 2,000 of all notifications and takes the user off them as their actor.
func (s *Store) ForgetActor(ctx context.Context, e *Erasure) (Forgotten, error) {
	var f Forgotten
	looked := 0
	args := []any{e.UserID, e.SearchedUser, at(e.Searched), id(e.Searched.ID)}
	user, position := e.SearchedUser, e.Searched
	err := s.hold(ctx, e, "forget actor", func(b *pgx.Batch) {
		b.Queue(forgetActorSQL, args...).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&user, &position.CreatedAt, (*[16]byte)(&position.ID), &looked, &f.Rows, &f.Users)
			if isNoRows(err) {
				return nil
			}
			return err
		})
	})
	if err != nil {
		return Forgotten{}, err
	}
	e.SearchedUser, e.Searched = user, position
	f.IsLast = looked < searchBatch
	return f, nil
}

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

const (
	activityColumns = `a.user_id, a.created_at, a.id, a.verb, a.object, a.url, a.data, a.expires_at`
	activityBranch  = `
    (SELECT ` + activityColumns + ` FROM activities a WHERE true`
)

const activityPageSQL = `-- name: ActivityPage
SELECT *` + pageOfOne + activityBranch + ofOne + inSpan + toOlder + olderOne

const activityPageBackwardSQL = `-- name: ActivityPageBackward
SELECT *` + pageOfOne + activityBranch + ofOne + inSpan + toNewer + newerOne

const activityPagesSQL = `-- name: ActivityPages
SELECT f.*` + pagesOfEach + activityBranch + ofEach + inSpan + toOlder + olderEach

const activityPagesBackwardSQL = `-- name: ActivityPagesBackward
SELECT f.*` + pagesOfEach + activityBranch + ofEach + inSpan + toNewer + newerEach

var activityList = &list[inbox.Activity]{
	name:  "activity page",
	ofOne: activityPageSQL, ofOneBackward: activityPageBackwardSQL,
	ofEach: activityPagesSQL, ofEachBackward: activityPagesBackwardSQL,
	scan:  scanActivities,
	owner: func(a *inbox.Activity) string { return a.UserID },
}

// ActivityPages adds a read of the same page of each user's activities. What has expired is listed until it is
// removed: a page that passed over it would cost more the more there is.
func (b *Batch) ActivityPages(userIDs []string, page inbox.Page) map[string]Page[inbox.Activity] {
	return activityList.pages(b, userIDs, page)
}

const activitiesByKeySQL = `-- name: ActivitiesByKey
SELECT ` + activityColumns + `
FROM unnest($1::text[], $2::timestamptz[], $3::uuid[]) AS k (user_id, created_at, id)
JOIN activities a ON a.user_id = k.user_id AND a.created_at = k.created_at AND a.id = k.id`

// Activities returns the activities that exist among the ids, by opaque id. Ids of other kinds are passed
// over.
func (s *Store) Activities(ctx context.Context, ids []inbox.NodeID) (map[string]*inbox.Activity, error) {
	users, cursors := positionsOf(ids, inbox.KindActivity)
	times, uuids := keys(cursors)
	rows, err := s.pool.Query(ctx, activitiesByKeySQL, users, times, uuids)
	if err != nil {
		return nil, fault("activities by key", err)
	}
	found, err := byNodeID(rows, scanActivities)
	return found, fault("activities by key", err)
}

// scanActivities reads rows of activityColumns and closes them.
func scanActivities(rows pgx.Rows, add func(*inbox.Activity)) error {
	var r activityRow
	_, err := pgx.ForEachRow(rows, r.targets(), func() error {
		add(r.activity())
		return nil
	})
	return err
}

// activityRow is a row of activityColumns; all null where a join found none.
type activityRow struct {
	userID, verb         *string
	createdAt, expiresAt pgtype.Timestamptz
	id                   pgtype.UUID
	inbox.Activity
}

func (r *activityRow) targets() []any {
	return []any{&r.userID, &r.createdAt, &r.id, &r.verb, &r.Object, &r.URL, &r.Data, &r.expiresAt}
}

// activity returns nil where there is none.
func (r *activityRow) activity() *inbox.Activity {
	if r.userID == nil {
		return nil
	}
	a := r.Activity
	a.UserID, a.CreatedAt, a.ID, a.Verb = *r.userID, r.createdAt.Time, r.id.Bytes, *r.verb
	a.ExpiresAt = timeOf(r.expiresAt)
	return &a
}

// One statement, and so one transaction, claims the key, where there is one, and writes the activity if the
// claim is new. Otherwise it answers with the claim that stood there before and the activity that it is on,
// which may have expired and be gone. As in dispatchSQL a claim that another transaction commits meanwhile is
// neither made nor found: then no row comes back, and activityByClaimSQL, whose snapshot is newer, answers.
const recordActivitySQL = `-- name: RecordActivity
WITH input AS MATERIALIZED (
  SELECT coalesce($5::timestamptz, clock_timestamp()) AS created_at
), claimed AS (
  INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
  SELECT $1, $2, $3::bytea, created_at, $4 FROM input WHERE $2::text IS NOT NULL
  ON CONFLICT (user_id, key) DO NOTHING
  RETURNING user_id
), created AS (
  INSERT INTO activities AS a (user_id, created_at, id, verb, object, url, data, expires_at)
  SELECT $1, created_at, $4, $6, $7, $8, $9::json, coalesce($10::timestamptz, created_at + $11::interval)
  FROM input WHERE $2::text IS NULL OR EXISTS (SELECT FROM claimed)
  RETURNING ` + activityColumns + `
)
SELECT true, a.* FROM created a
UNION ALL
SELECT k.content_hash = $3::bytea, ` + activityColumns + activityOfClaim

const activityByClaimSQL = `-- name: ActivityByClaim
SELECT k.content_hash = $3::bytea, ` + activityColumns + activityOfClaim

const activityOfClaim = `
FROM claims k
LEFT JOIN activities a ON a.user_id = k.user_id AND a.created_at = k.subject_at AND a.id = k.subject_id
WHERE k.user_id = $1 AND k.key = $2::text`

// RecordActivity stores an activity, or finds the one that its key stands for, which is nil where it has
// expired and is gone. It returns false where the key stands for other content: then nothing is written. An
// activity that does not say when it expires does so after ttl, or never where ttl is 0. The input must
// have passed its Check.
func (s *Store) RecordActivity(
	ctx context.Context, in *inbox.ActivityInput, ttl time.Duration,
) (*inbox.Activity, bool, error) {
	key, hash := in.Key(), in.ContentHash()
	expiresAfter := pgtype.Interval{Microseconds: ttl.Microseconds(), Valid: ttl > 0}
	for range maxRaces {
		activityID, err := newUUID()
		if err != nil {
			return nil, false, fault("record activity", err)
		}
		activity, isSame, err := scanRecorded(s.pool.QueryRow(ctx, recordActivitySQL, in.UserID, key, hash[:], id(activityID),
			in.OccurredAt, in.Verb, in.Object, in.URL, []byte(in.Data), in.ExpiresAt, expiresAfter))
		if isNoRows(err) {
			activity, isSame, err = scanRecorded(s.pool.QueryRow(ctx, activityByClaimSQL, in.UserID, key, hash[:]))
		}
		if !isNoRows(err) {
			return activity, isSame, fault("record activity", err)
		}
	}
	return nil, false, fmt.Errorf("record activity: its claim came and went %d times", maxRaces)
}

// scanRecorded reads whether a claim is on the same content, and the activity where it is.
func scanRecorded(row pgx.Row) (*inbox.Activity, bool, error) {
	var r activityRow
	var isSame bool
	if err := row.Scan(append([]any{&isSame}, r.targets()...)...); err != nil || !isSame {
		return nil, false, err
	}
	return r.activity(), true, nil
}

package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// One statement, and so one transaction, looks the claims up, claims the event for each recipient who has none,
// writes the notification of each new claim, queues its push where there is a device, and answers for the rest
// with the claim that stood there before. A duplicate takes the look and nothing else.
//
// Claims are made in the order given, which is the same in every process: two dispatches of one event
// wait for each other and never deadlock. The look sees the statement's snapshot alone, so a claim that another
// transaction commits meanwhile is neither found nor made: no row comes back for it, and claimsByKeySQL, whose
// snapshot is newer, answers.
//
// The limits and offsets of 1 and 0 keep the planner from reading a table that was empty when the plan was made
// as a whole: a look-up by key for each recipient is never wrong by much.
const dispatchSQL = `-- name: Dispatch
WITH input AS MATERIALIZED (
  SELECT r.user_id, r.id, r.ord, $3::text || r.user_id AS key, k.content_hash, k.subject_at, k.subject_id,
    k.content_hash IS NULL AS is_new,
    k.content_hash IS NULL AND EXISTS (
      SELECT FROM preferences p
      WHERE p.user_id = r.user_id AND p.category = $7 AND p.channel = 'IN_APP' AND NOT p.enabled OFFSET 0) AS is_muted
  FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS r (user_id, id, ord)
  LEFT JOIN LATERAL (
    SELECT content_hash, subject_at, subject_id FROM claims
    WHERE user_id = r.user_id AND key = $3 || r.user_id LIMIT 1) k ON true
), claimed AS (
  INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
  SELECT user_id, key, $4::bytea, coalesce($5::timestamptz, clock_timestamp()), id FROM input
  WHERE is_new AND NOT is_muted ORDER BY ord
  ON CONFLICT (user_id, key) DO NOTHING
  RETURNING user_id, subject_at, subject_id
), created AS (
  INSERT INTO notifications (user_id, created_at, id, kind, category, actor_id, title, body, url, data)
  SELECT user_id, subject_at, subject_id, $6, $7, $8, $9, $10, $11, $12::json FROM claimed
), queued AS (
  INSERT INTO push_queue (user_id, notification_at, notification_id, category)
  SELECT c.user_id, c.subject_at, c.subject_id, $7 FROM claimed c
  WHERE EXISTS (SELECT FROM devices d WHERE d.user_id = c.user_id AND d.disabled_at IS NULL OFFSET 0)
)
SELECT user_id, false, NULL::boolean, subject_at, subject_id FROM claimed
UNION ALL
SELECT user_id, is_muted, content_hash = $4, subject_at, subject_id FROM input WHERE is_muted OR NOT is_new`

const claimsByKeySQL = `-- name: ClaimsByKey
SELECT r.user_id, false, k.content_hash = $3::bytea, k.subject_at, k.subject_id
FROM unnest($1::text[]) AS r (user_id)
CROSS JOIN LATERAL (
  SELECT content_hash, subject_at, subject_id FROM claims
  WHERE user_id = r.user_id AND key = $2::text || r.user_id LIMIT 1) k`

// maxRaces is how often Dispatch begins again for recipients whose claim was there for the INSERT and
// gone for the SELECT: purged in between, which can hardly happen twice.
const maxRaces = 3

// Dispatch notifies each distinct recipient of the event once, and answers for each in the order of the
// first mention. The event must have passed its Check.
func (s *Store) Dispatch(ctx context.Context, event *inbox.Event) ([]*inbox.DispatchResult, error) {
	recipients := event.DistinctRecipients()
	results := make(map[string]*inbox.DispatchResult, len(recipients))
	for range maxRaces {
		pending := make([]string, 0, len(recipients)-len(results))
		for _, r := range recipients {
			if results[r] == nil {
				pending = append(pending, r)
			}
		}
		if len(pending) == 0 {
			break
		}
		// By bytes, whatever the database's collation: see dispatchSQL.
		slices.Sort(pending)
		if err := s.dispatchTo(ctx, event, pending, results); err != nil {
			return nil, fault("dispatch", err)
		}
	}
	ordered := make([]*inbox.DispatchResult, len(recipients))
	for i, r := range recipients {
		if ordered[i] = results[r]; ordered[i] == nil {
			return nil, fmt.Errorf("dispatch: claims came and went %d times", maxRaces)
		}
	}
	return ordered, nil
}

// dispatchTo dispatches to recipients in sorted order and adds what became of it to results.
func (s *Store) dispatchTo(
	ctx context.Context, event *inbox.Event, recipients []string, results map[string]*inbox.DispatchResult,
) error {
	ids := make([]pgtype.UUID, len(recipients))
	for i := range ids {
		u, err := newUUID()
		if err != nil {
			return err
		}
		ids[i] = id(u)
	}
	prefix, hash := event.KeyPrefix(), event.ContentHash()
	rows, err := s.pool.Query(ctx, dispatchSQL, recipients, ids, prefix, hash[:], timestamp(event.OccurredAt),
		event.Kind, event.Category, event.ActorID, event.Title, event.Body, event.URL, []byte(event.Data))
	if err != nil {
		return err
	}
	if err := scanOutcomes(rows, results); err != nil {
		return err
	}
	passedOver := recipients[:0:0]
	for _, r := range recipients {
		if results[r] == nil {
			passedOver = append(passedOver, r)
		}
	}
	if len(passedOver) == 0 {
		return nil
	}
	if rows, err = s.pool.Query(ctx, claimsByKeySQL, passedOver, prefix, hash[:]); err != nil {
		return err
	}
	return scanOutcomes(rows, results)
}

// scanOutcomes adds what became of each recipient, but for those whose claim could not be seen.
func scanOutcomes(rows pgx.Rows, results map[string]*inbox.DispatchResult) error {
	var (
		recipient      string
		isMuted        bool
		isSame         *bool // as what was claimed before; nil where nothing was
		createdAt      pgtype.Timestamptz
		notificationID pgtype.UUID
	)
	_, err := pgx.ForEachRow(rows, []any{&recipient, &isMuted, &isSame, &createdAt, &notificationID}, func() error {
		r := &inbox.DispatchResult{Recipient: recipient}
		switch {
		case isSame != nil && *isSame:
			r.Status = inbox.Duplicate
		case isSame != nil:
			r.Status = inbox.Conflict
		case isMuted:
			r.Status = inbox.Muted
		default:
			r.Status = inbox.Created
		}
		if createdAt.Valid {
			r.Position = inbox.Cursor{CreatedAt: createdAt.Time, ID: notificationID.Bytes}
		}
		results[recipient] = r
		return nil
	})
	return err
}

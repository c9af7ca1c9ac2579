package storage

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// One statement, and so one transaction, claims the event for each recipient, writes the notification of
// each new claim and queues its push where there is a device, and answers for the rest with the claim that stood there before.
//
// Claims are made in the order given, which is the same in every process: two dispatches of one event
// wait for each other and never deadlock. The join with claims sees the statement's snapshot alone, so a
// claim that another transaction commits meanwhile is neither made nor found: that row comes back with
// nulls, and claimsByKeySQL, whose snapshot is newer, answers for it.
const dispatchSQL = `-- name: Dispatch
WITH input AS MATERIALIZED (
  SELECT r.user_id, r.id, r.ord, $3::text || r.user_id AS key,
    coalesce($5::timestamptz, clock_timestamp()) AS created_at,
    EXISTS (
      SELECT FROM preferences p
      WHERE p.user_id = r.user_id AND p.category = $7 AND p.channel = 'IN_APP' AND NOT p.enabled) AS is_muted
  FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS r (user_id, id, ord)
), claimed AS (
  INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
  SELECT user_id, key, $4::bytea, created_at, id FROM input WHERE NOT is_muted ORDER BY ord
  ON CONFLICT (user_id, key) DO NOTHING
  RETURNING user_id, subject_at, subject_id
), created AS (
  INSERT INTO notifications (user_id, created_at, id, kind, category, actor_id, title, body, url, data)
  SELECT user_id, subject_at, subject_id, $6, $7, $8, $9, $10, $11, $12::json FROM claimed
), queued AS (
  INSERT INTO push_queue (user_id, notification_at, notification_id, category)
  SELECT c.user_id, c.subject_at, c.subject_id, $7 FROM claimed c
  WHERE EXISTS (SELECT FROM devices d WHERE d.user_id = c.user_id AND d.disabled_at IS NULL)
)
SELECT i.ord, i.is_muted, c.user_id IS NOT NULL, k.content_hash = $4::bytea,
  coalesce(c.subject_at, k.subject_at), coalesce(c.subject_id, k.subject_id)
FROM input i
LEFT JOIN claimed c ON c.user_id = i.user_id
LEFT JOIN claims k ON k.user_id = i.user_id AND k.key = i.key`

const claimsByKeySQL = `-- name: ClaimsByKey
SELECT r.ord, false, false, k.content_hash = $3::bytea, k.subject_at, k.subject_id
FROM unnest($1::text[]) WITH ORDINALITY AS r (user_id, ord)
JOIN claims k ON k.user_id = r.user_id AND k.key = $2::text || r.user_id`

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
	var occurredAt pgtype.Timestamptz
	if event.OccurredAt != nil {
		occurredAt = pgtype.Timestamptz{Time: *event.OccurredAt, Valid: true}
	}
	rows, err := s.pool.Query(ctx, dispatchSQL, recipients, ids, prefix, hash[:], occurredAt,
		event.Kind, event.Category, event.ActorID, event.Title, event.Body, event.URL, []byte(event.Data))
	if err != nil {
		return err
	}
	if err := scanOutcomes(rows, recipients, results); err != nil {
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
	return scanOutcomes(rows, passedOver, results)
}

// scanOutcomes adds what became of each recipient, but for those whose claim could not be seen.
func scanOutcomes(rows pgx.Rows, recipients []string, results map[string]*inbox.DispatchResult) error {
	var (
		ord                int64
		isMuted, isCreated bool
		isSame             *bool
		createdAt          pgtype.Timestamptz
		notificationID     pgtype.UUID
	)
	_, err := pgx.ForEachRow(rows, []any{&ord, &isMuted, &isCreated, &isSame, &createdAt, &notificationID}, func() error {
		r := &inbox.DispatchResult{Recipient: recipients[ord-1]}
		switch {
		case isCreated:
			r.Status = inbox.Created
		case isSame != nil && *isSame:
			r.Status = inbox.Duplicate
		case isSame != nil:
			r.Status = inbox.Conflict
		case isMuted:
			r.Status = inbox.Muted
		default:
			return nil
		}
		if createdAt.Valid {
			r.Position = inbox.Cursor{CreatedAt: createdAt.Time, ID: notificationID.Bytes}
		}
		results[r.Recipient] = r
		return nil
	})
	return err
}

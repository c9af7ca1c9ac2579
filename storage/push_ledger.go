package storage

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// stateOf returns what the database calls a status.
func stateOf(s inbox.PushStatus) string { return strings.ToLower(string(s)) }

const ledgerSQL = `-- name: Ledger
SELECT p.user_id, p.notification_at, p.notification_id, upper(p.state), p.error, p.created_at, p.sent_at, p.settled_at,
    d.id IS NOT NULL, coalesce(d.id, p.device_id), coalesce(d.provider, p.provider), coalesce(d.token, ''), d.platform,
    d.installation_id, d.name, coalesce(d.created_at, p.created_at), coalesce(d.last_seen_at, p.created_at),
    d.disabled_at, d.disabled_reason
FROM unnest($1::text[], $2::timestamptz[], $3::uuid[]) AS k (user_id, notification_at, notification_id)
JOIN push_deliveries p
  ON p.user_id = k.user_id AND p.notification_at = k.notification_at AND p.notification_id = k.notification_id
LEFT JOIN devices d ON d.user_id = p.user_id AND d.id = p.device_id
ORDER BY p.created_at, p.device_id`

// Ledger sets the push deliveries of each notification, by one statement.
func (s *Store) Ledger(ctx context.Context, notifications []*inbox.Notification) error {
	var users []string
	var cursors []inbox.Cursor
	byID := make(map[string][]*inbox.Notification, len(notifications))
	for _, n := range notifications {
		key := n.NodeID()
		if len(byID[key]) == 0 {
			users, cursors = append(users, n.UserID), append(cursors, n.Cursor())
		}
		byID[key] = append(byID[key], n)
		n.PushDeliveries = []*inbox.PushDelivery{}
	}
	times, ids := keys(cursors)
	rows, err := s.pool.Query(ctx, ledgerSQL, users, times, ids)
	if err != nil {
		return fault("ledger", err)
	}
	var (
		key       inbox.Cursor
		user      string
		p         inbox.PushDelivery
		sentAt    pgtype.Timestamptz
		settledAt pgtype.Timestamptz
		hasDevice bool
		d         inbox.Device
		off       pgtype.Timestamptz
	)
	targets := []any{
		&user, &key.CreatedAt, (*[16]byte)(&key.ID), &p.Status, &p.Error, &p.CreatedAt, &sentAt, &settledAt,
		&hasDevice, (*[16]byte)(&d.ID), &d.Provider, &d.Token, &d.Platform, &d.InstallationID, &d.Name, &d.CreatedAt,
		&d.LastSeenAt, &off, &d.DisabledReason,
	}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		line, device := p, d
		line.SentAt, line.SettledAt, device.DisabledAt = timeOf(sentAt), timeOf(settledAt), timeOf(off)
		device.UserID = user
		if hasDevice {
			line.Device = &device
		}
		for _, n := range byID[inbox.NotificationID(user, key)] {
			n.PushDeliveries = append(n.PushDeliveries, &line)
		}
		return nil
	})
	return fault("ledger", err)
}

// LedgerLine is a push delivery as an operator sees it.
type LedgerLine struct {
	ID             inbox.UUID
	UserID         string
	NotificationID string
	DeviceID       inbox.UUID
	Provider       string
	State          string
	Error, Detail  *string
	Ticket         *string
	CreatedAt      time.Time
	SentAt         *time.Time
	SettledAt      *time.Time
}

const ledgerLine = `p.id, p.user_id, p.notification_at, p.notification_id, p.device_id, p.provider, p.state, p.error,
  p.detail, p.ticket, p.created_at, p.sent_at, p.settled_at`

const ledgerOfUserSQL = `-- name: LedgerOfUser
SELECT ` + ledgerLine + ` FROM push_deliveries p WHERE p.user_id = $1
ORDER BY p.notification_at DESC, p.notification_id DESC, p.device_id DESC LIMIT $2`

// LedgerOfUser returns the lines of a user's newest notifications, at most limit.
func (s *Store) LedgerOfUser(ctx context.Context, userID string, limit int) ([]LedgerLine, error) {
	return s.ledgerLines(ctx, "ledger of user", ledgerOfUserSQL, userID, limit)
}

const ledgerOfDeliverySQL = `-- name: LedgerOfDelivery
SELECT ` + ledgerLine + ` FROM push_deliveries p WHERE p.id = $1`

// LedgerByID returns the line of a delivery; none where there is no such delivery.
func (s *Store) LedgerByID(ctx context.Context, deliveryID inbox.UUID) ([]LedgerLine, error) {
	return s.ledgerLines(ctx, "ledger of delivery", ledgerOfDeliverySQL, id(deliveryID))
}

const ledgerOfNotificationSQL = `-- name: LedgerOfNotification
SELECT ` + ledgerLine + ` FROM push_deliveries p
WHERE p.user_id = $1 AND p.notification_at = $2 AND p.notification_id = $3
ORDER BY p.device_id`

// LedgerOfNotification returns the lines of a notification.
func (s *Store) LedgerOfNotification(ctx context.Context, userID string, position inbox.Cursor) ([]LedgerLine, error) {
	return s.ledgerLines(ctx, "ledger of notification", ledgerOfNotificationSQL, userID, at(position), id(position.ID))
}

func (s *Store) ledgerLines(ctx context.Context, op, sql string, args ...any) ([]LedgerLine, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, fault(op, err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (LedgerLine, error) {
		var l LedgerLine
		var position inbox.Cursor
		err := row.Scan((*[16]byte)(&l.ID), &l.UserID, &position.CreatedAt, (*[16]byte)(&position.ID), (*[16]byte)(&l.DeviceID),
			&l.Provider, &l.State, &l.Error, &l.Detail, &l.Ticket, &l.CreatedAt, &l.SentAt, &l.SettledAt)
		l.NotificationID = inbox.NotificationID(l.UserID, position)
		return l, err
	})
	return lines, fault(op, err)
}

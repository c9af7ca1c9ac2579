package storage

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// Delivery is a push that this process has claimed to send.
type Delivery struct {
	ID       inbox.UUID
	UserID   string
	Position inbox.Cursor
	// Age is how long ago it was planned.
	Age time.Duration
	// Token is "" where the device is gone or switched off meanwhile: then there is nothing to send.
	Token    string
	Platform string
	// Kind and what follows are of the notification; all empty, IsGone set, where it was deleted meanwhile.
	IsGone         bool
	Kind, Category string
	Title          string
	Body, URL      *string
	Data           json.RawMessage
	// Badge is the user's unread count now.
	Badge int32
}

// Marked as being sent before anybody sends it, in a transaction of its own: who dies in between leaves a
// row that is failed later, not one that is sent again.
const claimDeliveriesSQL = `-- name: ClaimDeliveries
WITH claimed AS (
  UPDATE push_deliveries p SET state = 'sending', leased_until = clock_timestamp() + $2::interval,
    error = NULL, detail = NULL -- of the try before, where it was queued again
  WHERE p.id = ANY (ARRAY(
    SELECT id FROM push_deliveries
    WHERE state = 'queued' AND provider = $1 AND due_at <= clock_timestamp()
    ORDER BY due_at LIMIT 100 FOR UPDATE SKIP LOCKED))
  RETURNING p.id, p.user_id, p.notification_at, p.notification_id, p.device_id, p.created_at)
SELECT c.id, c.user_id, c.notification_at, c.notification_id, clock_timestamp() - c.created_at,
  coalesce(d.token, ''), coalesce(d.platform, ''), n.id IS NULL,
  coalesce(n.kind, ''), coalesce(n.category, ''), coalesce(n.title, ''), n.body, n.url, n.data,
  ` + unreadCount + `
FROM claimed c
CROSS JOIN LATERAL (SELECT c.user_id) u (user_id)
LEFT JOIN devices d ON d.user_id = c.user_id AND d.id = c.device_id AND d.disabled_at IS NULL
LEFT JOIN notifications n ON n.user_id = c.user_id AND n.created_at = c.notification_at AND n.id = c.notification_id`

// DeliveryBatch is the most deliveries that ClaimDeliveries returns.
const DeliveryBatch = 100

// ClaimDeliveries takes deliveries that are due and marks them as being sent, until the lease ends. Each
// must be reported with ReportSends before that.
func (s *Store) ClaimDeliveries(ctx context.Context, provider inbox.Provider, lease time.Duration) ([]Delivery, error) {
	rows, err := s.pool.Query(ctx, claimDeliveriesSQL, provider, lease)
	if err != nil {
		return nil, fault("claim deliveries", err)
	}
	claimed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Delivery, error) {
		var d Delivery
		err := row.Scan((*[16]byte)(&d.ID), &d.UserID, &d.Position.CreatedAt, (*[16]byte)(&d.Position.ID),
			&d.Age, &d.Token, &d.Platform, &d.IsGone, &d.Kind, &d.Category, &d.Title, &d.Body, &d.URL, &d.Data, &d.Badge)
		return d, err
	})
	return claimed, fault("claim deliveries", err)
}

// Report is what became of a delivery: of its send, or of a look at its receipt.
type Report struct {
	ID     inbox.UUID
	Status inbox.PushStatus
	// Error and Detail are nil where there is none.
	Error, Detail *string
	// Ticket is nil where the provider gave none.
	Ticket *string
	// Due is how long until the next try of a queued one, or the next look at a sent one.
	Due time.Duration
	// Disable switches the device off, with Error as the reason.
	Disable bool
}

// Rows whose lease has run out were failed by another process and stay so.
const reportSendsSQL = `-- name: ReportSends
WITH report AS (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::interval[], $7::boolean[])
    AS r (id, state, error, detail, ticket, due, disable)
), settled AS (
  UPDATE push_deliveries p SET
    state = r.state, error = r.error, detail = r.detail, ticket = r.ticket, leased_until = NULL,
    due_at = clock_timestamp() + r.due,
    sent_at = CASE WHEN r.state IN ('sent', 'delivered') THEN clock_timestamp() END,
    settled_at = CASE WHEN r.state IN ('delivered', 'failed') THEN clock_timestamp() END
  FROM report r WHERE p.id = r.id AND p.state = 'sending'
  RETURNING p.id, p.user_id, p.device_id)
UPDATE devices d SET disabled_at = clock_timestamp(), disabled_reason = r.error
FROM settled s JOIN report r ON r.id = s.id AND r.disable
WHERE d.user_id = s.user_id AND d.id = s.device_id AND d.disabled_at IS NULL`

// ReportSends writes down what became of claimed deliveries: sent, delivered, failed, or queued again.
func (s *Store) ReportSends(ctx context.Context, reports []Report) error {
	return s.report(ctx, "report sends", reportSendsSQL, reports)
}

// A device that was registered again since the send is on for good reason, whatever a late receipt says.
const reportReceiptsSQL = `-- name: ReportReceipts
WITH report AS (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::interval[], $7::boolean[])
    AS r (id, state, error, detail, ticket, due, disable)
), settled AS (
  UPDATE push_deliveries p SET
    state = r.state, error = r.error, detail = r.detail, leased_until = NULL, due_at = clock_timestamp() + r.due,
    settled_at = CASE WHEN r.state <> 'sent' THEN clock_timestamp() END
  FROM report r WHERE p.id = r.id AND p.state = 'sent'
  RETURNING p.id, p.user_id, p.device_id, p.sent_at)
UPDATE devices d SET disabled_at = clock_timestamp(), disabled_reason = r.error
FROM settled s JOIN report r ON r.id = s.id AND r.disable
WHERE d.user_id = s.user_id AND d.id = s.device_id AND d.disabled_at IS NULL AND d.last_seen_at <= s.sent_at`

// ReportReceipts writes down what a look at receipts has shown: delivered, receipt_error, unknown, or sent
// for those to be looked at again.
func (s *Store) ReportReceipts(ctx context.Context, reports []Report) error {
	return s.report(ctx, "report receipts", reportReceiptsSQL, reports)
}

func (s *Store) report(ctx context.Context, op, sql string, reports []Report) error {
	n := len(reports)
	ids, states := make([]pgtype.UUID, n), make([]string, n)
	errors, details, tickets := make([]*string, n), make([]*string, n), make([]*string, n)
	due, disable := make([]time.Duration, n), make([]bool, n)
	for i, r := range reports {
		ids[i], states[i] = id(r.ID), stateOf(r.Status)
		errors[i], details[i], tickets[i] = r.Error, r.Detail, r.Ticket
		due[i], disable[i] = r.Due, r.Disable
	}
	_, err := s.pool.Exec(ctx, sql, ids, states, errors, details, tickets, due, disable)
	return fault(op, err)
}

// LostBatch is the most deliveries that FailLostSends fails.
const LostBatch = 1000

const failLostSendsSQL = `-- name: FailLostSends
UPDATE push_deliveries p SET state = 'failed', error = $1, leased_until = NULL, settled_at = clock_timestamp()
WHERE p.id = ANY (ARRAY(
  SELECT id FROM push_deliveries
  WHERE state = 'sending' AND leased_until < clock_timestamp()
  ORDER BY leased_until LIMIT 1000 FOR UPDATE SKIP LOCKED))`

// FailLostSends fails deliveries that were being sent when their lease ended, with that code: nobody knows
// whether they were. It returns how many those were.
func (s *Store) FailLostSends(ctx context.Context, code string) (int, error) {
	tag, err := s.pool.Exec(ctx, failLostSendsSQL, code)
	return int(tag.RowsAffected()), fault("fail lost sends", err)
}

const expireDeliveriesSQL = `-- name: ExpireDeliveries
UPDATE push_deliveries p SET state = 'failed', error = $3, settled_at = clock_timestamp()
WHERE p.id = ANY (ARRAY(
  SELECT id FROM push_deliveries
  WHERE state = 'queued' AND provider = $1 AND due_at < $2
  ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED))`

// ExpireDeliveries fails a provider's deliveries that were due before a time and that nobody has sent, with
// that code, at most LostBatch. It returns how many those were.
func (s *Store) ExpireDeliveries(ctx context.Context, provider inbox.Provider, before time.Time, code string) (int, error) {
	tag, err := s.pool.Exec(ctx, expireDeliveriesSQL, provider, before, code)
	return int(tag.RowsAffected()), fault("expire deliveries", err)
}

// Sent is a delivery whose receipt is to be looked for.
type Sent struct {
	ID inbox.UUID
	// Ticket is "" where the provider gave none.
	Ticket string
	Age    time.Duration
}

const claimReceiptsSQL = `-- name: ClaimReceipts
UPDATE push_deliveries p SET leased_until = clock_timestamp() + $2::interval
WHERE p.id = ANY (ARRAY(
  SELECT id FROM push_deliveries
  WHERE state = 'sent' AND provider = $1 AND due_at <= clock_timestamp()
    AND (leased_until IS NULL OR leased_until < clock_timestamp())
  ORDER BY due_at LIMIT 300 FOR UPDATE SKIP LOCKED))
RETURNING p.id, coalesce(p.ticket, ''), clock_timestamp() - p.sent_at`

// ReceiptBatch is the most deliveries that ClaimReceipts returns.
const ReceiptBatch = 300

// ClaimReceipts takes sent deliveries whose look is due, so that no other process looks at them while the
// lease lasts.
func (s *Store) ClaimReceipts(ctx context.Context, provider inbox.Provider, lease time.Duration) ([]Sent, error) {
	rows, err := s.pool.Query(ctx, claimReceiptsSQL, provider, lease)
	if err != nil {
		return nil, fault("claim receipts", err)
	}
	claimed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Sent, error) {
		var d Sent
		return d, row.Scan((*[16]byte)(&d.ID), &d.Ticket, &d.Age)
	})
	return claimed, fault("claim receipts", err)
}

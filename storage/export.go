package storage

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// A reader of a stream may be slow, and statement_timeout counts its time too. A nested loop, which the planner
// takes for the few rows that it expects of a user, would take for ever with a million of them.
const exportModeSQL = `-- name: ExportMode
SELECT set_config('statement_timeout', '0', true), set_config('enable_nestloop', $1, true)`

const exportSeenSQL = `-- name: ExportSeen
SELECT w.created_at, w.id, w.horizon FROM seen_watermarks w WHERE w.user_id = $1`

// The limit, which the planner can't see, and the order are there for the plan: see unreadRows. What a million rows
// need is a walk along the key that begins to answer at once.
const (
	all         = ` LIMIT (SELECT 9223372036854775807)`
	exportedOf  = ` WHERE user_id = $1 ORDER BY created_at, id` + all
	ownClaimsOf = `LEFT JOIN claims c ON c.user_id = $1 AND c.subject_at = s.created_at AND c.subject_id = s.id
ORDER BY s.created_at, s.id`
)

const exportNotificationsSQL = `-- name: ExportNotifications
SELECT s.created_at, s.id, s.kind, s.category, s.actor_id, s.title, s.body, s.url, s.data, s.read_at, s.archived_at,
  c.key, c.content_hash, c.created_at
FROM (SELECT * FROM notifications` + exportedOf + `) s
` + ownClaimsOf

const exportActivitiesSQL = `-- name: ExportActivities
SELECT s.created_at, s.id, s.verb, s.object, s.url, s.data, s.expires_at, c.key, c.content_hash, c.created_at
FROM (SELECT * FROM activities` + exportedOf + `) s
` + ownClaimsOf

const exportClaimsSQL = `-- name: ExportClaims
SELECT c.key, c.content_hash, c.created_at, c.subject_at, c.subject_id FROM claims c
WHERE c.user_id = $1
  AND NOT EXISTS (SELECT FROM notifications n WHERE n.user_id = $1 AND n.created_at = c.subject_at AND n.id = c.subject_id)
  AND NOT EXISTS (SELECT FROM activities a WHERE a.user_id = $1 AND a.created_at = c.subject_at AND a.id = c.subject_id)
ORDER BY c.key`

const exportItemsSQL = `-- name: ExportItems
SELECT i.item_id, i.title, i.url, i.data, i.tags, i.created_at FROM (SELECT * FROM items` + exportedOf + `) i`

const exportDeliveriesSQL = `-- name: ExportDeliveries
SELECT p.notification_at, p.notification_id, p.device_id, p.id, p.provider, upper(p.state), p.error, p.detail, p.ticket,
  p.created_at, p.sent_at, p.settled_at
FROM push_deliveries p
WHERE p.user_id = $1
ORDER BY p.notification_at, p.notification_id, p.device_id`

// Export reads everything that is stored of a user, as it was at one moment, and calls each with every record. It
// holds no more than one of them at a time, however many there are; each must not keep it. What waits to be planned
// for pushing is work, not data, and is left out.
func (s *Store) Export(ctx context.Context, userID string, each func(inbox.Record) error) error {
	// What is left of a stream that nobody reads is not waited for.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	var refused error
	err := pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		e := &export{tx, userID, func(r inbox.Record) error {
			if refused = each(r); refused != nil {
				cancel()
			}
			return refused
		}}
		if _, err := tx.Exec(ctx, exportModeSQL, "off"); err != nil {
			return err
		}
		for _, part := range []func(context.Context) error{
			e.account, e.settings, e.seen, e.devices, e.notifications, e.activities, e.items, e.claims, e.deliveries,
		} {
			if err := part(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return fault("export", err)
}

// export is a user's export under way.
type export struct {
	tx     pgx.Tx
	userID string
	each   func(inbox.Record) error
}

// stream runs a statement on the user and calls each with the record that row makes, once the targets hold one.
func (e *export) stream(ctx context.Context, sql string, user any, targets []any, row func() inbox.Record) error {
	rows, err := e.tx.Query(ctx, sql, user)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, targets, func() error { return e.each(row()) })
	return err
}

func (e *export) account(ctx context.Context) error {
	var a accountRow
	return e.stream(ctx, accountsSQL, []string{e.userID}, a.targets(), func() inbox.Record {
		return &inbox.AccountRecord{AccountInput: inbox.AccountInput{
			UserID: e.userID, Email: a.email, DisplayName: *a.displayName, AvatarURL: a.avatarURL, CreatedAt: &a.createdAt.Time,
		}}
	})
}

// settings reads both tables: a user has few preferences.
func (e *export) settings(ctx context.Context) error {
	rows, err := e.tx.Query(ctx, preferencesSQL, []string{e.userID})
	if err != nil {
		return err
	}
	preferences, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (inbox.Preference, error) {
		var p inbox.Preference
		return p, row.Scan(nil, &p.Category, &p.Channel, &p.Enabled)
	})
	if err != nil {
		return err
	}
	var r settingsRow
	return e.stream(ctx, settingsSQL, []string{e.userID}, r.targets(), func() inbox.Record {
		return &inbox.SettingsRecord{
			UserID: e.userID, Theme: (*inbox.Theme)(r.theme), Locale: r.locale, TimeZone: r.timeZone,
			EmailDigest: (*inbox.EmailDigest)(r.emailDigest), Preferences: preferences, UpdatedAt: timeOf(r.updatedAt),
		}
	})
}

func (e *export) seen(ctx context.Context) error {
	r := &inbox.SeenRecord{UserID: e.userID}
	targets := []any{&r.Through.CreatedAt, (*[16]byte)(&r.Through.ID), (*[16]byte)(&r.Horizon)}
	return e.stream(ctx, exportSeenSQL, e.userID, targets, func() inbox.Record { return r })
}

// devices reads at most MaxDevices.
func (e *export) devices(ctx context.Context) error {
	rows, err := e.tx.Query(ctx, devicesSQL, []string{e.userID})
	if err != nil {
		return err
	}
	devices, err := scanDevices(rows)
	if err != nil {
		return err
	}
	for _, d := range devices {
		if err := e.each(&inbox.DeviceRecord{Device: *d}); err != nil {
			return err
		}
	}
	return nil
}

// claimRow is a claim's key, hash and time; all null where a join found none.
type claimRow struct {
	key       *string
	hash      []byte
	createdAt pgtype.Timestamptz
}

func (r *claimRow) targets() []any { return []any{&r.key, &r.hash, &r.createdAt} }

// claim returns nil where there is none.
func (r *claimRow) claim() *inbox.Claim {
	if r.key == nil {
		return nil
	}
	c := &inbox.Claim{Key: *r.key, CreatedAt: r.createdAt.Time}
	copy(c.ContentHash[:], r.hash)
	return c
}

func (e *export) notifications(ctx context.Context) error {
	r := &inbox.NotificationRecord{UserID: e.userID, IsRestored: true}
	var c claimRow
	var readAt, archivedAt pgtype.Timestamptz
	targets := []any{
		&r.Position.CreatedAt, (*[16]byte)(&r.Position.ID), &r.Event.Kind, &r.Event.Category, &r.Event.ActorID,
		&r.Event.Title, &r.Event.Body, &r.Event.URL, &r.Event.Data, &readAt, &archivedAt,
	}
	return e.stream(ctx, exportNotificationsSQL, e.userID, append(targets, c.targets()...), func() inbox.Record {
		r.ReadAt, r.ArchivedAt, r.Claim = timeOf(readAt), timeOf(archivedAt), c.claim()
		return r
	})
}

func (e *export) activities(ctx context.Context) error {
	r := &inbox.ActivityRecord{ActivityInput: inbox.ActivityInput{UserID: e.userID}, IsRestored: true}
	var c claimRow
	var expiresAt pgtype.Timestamptz
	targets := []any{
		&r.Position.CreatedAt, (*[16]byte)(&r.Position.ID), &r.Verb, &r.Object, &r.URL, &r.Data, &expiresAt,
	}
	return e.stream(ctx, exportActivitiesSQL, e.userID, append(targets, c.targets()...), func() inbox.Record {
		r.ExpiresAt, r.Claim = timeOf(expiresAt), c.claim()
		return r
	})
}

func (e *export) claims(ctx context.Context) error {
	r := &inbox.ClaimRecord{UserID: e.userID}
	var c claimRow
	targets := append(c.targets(), &r.Subject.CreatedAt, (*[16]byte)(&r.Subject.ID))
	return e.stream(ctx, exportClaimsSQL, e.userID, targets, func() inbox.Record {
		r.Claim = *c.claim()
		return r
	})
}

func (e *export) items(ctx context.Context) error {
	r := &inbox.ItemRecord{ItemInput: inbox.ItemInput{UserID: e.userID}}
	var createdAt pgtype.Timestamptz
	targets := []any{&r.ItemID, &r.Title, &r.URL, &r.Data, &r.Tags, &createdAt}
	return e.stream(ctx, exportItemsSQL, e.userID, targets, func() inbox.Record {
		r.CreatedAt = timeOf(createdAt)
		return r
	})
}

func (e *export) deliveries(ctx context.Context) error {
	r := &inbox.DeliveryRecord{UserID: e.userID}
	var sentAt, settledAt pgtype.Timestamptz
	targets := []any{
		&r.Notification.CreatedAt, (*[16]byte)(&r.Notification.ID), (*[16]byte)(&r.DeviceID), (*[16]byte)(&r.ID), &r.Provider,
		&r.Status, &r.Error, &r.Detail, &r.Ticket, &r.CreatedAt, &sentAt, &settledAt,
	}
	return e.stream(ctx, exportDeliveriesSQL, e.userID, targets, func() inbox.Record {
		r.SentAt, r.SettledAt = timeOf(sentAt), timeOf(settledAt)
		return r
	})
}

package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

const importDevicesSQL = `-- name: ImportDevices
INSERT INTO devices (user_id, id, provider, token, token_hash, platform, installation_id, name, created_at, last_seen_at,
  disabled_at, disabled_reason)
SELECT user_id, id, provider, token, token_hash, platform, installation_id, name, created_at, last_seen_at, disabled_at,
  disabled_reason
FROM (
  SELECT d.*, row_number() OVER (PARTITION BY d.user_id ORDER BY d.created_at, d.id) AS number
  FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::text[],
    $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::text[])
    AS d (user_id, id, provider, token, token_hash, platform, installation_id, name, created_at, last_seen_at, disabled_at,
      disabled_reason)
  WHERE NOT EXISTS (SELECT FROM devices e WHERE e.user_id = d.user_id AND e.id = d.id)) d
WHERE d.number + (SELECT count(*) FROM devices e WHERE e.user_id = d.user_id) <= $13
ON CONFLICT DO NOTHING
RETURNING id`

// Of those that were not written: whether the device itself, or else its token, is there.
const standingDevicesSQL = `-- name: StandingDevices
SELECT r.ord, EXISTS (SELECT FROM devices d WHERE d.user_id = r.user_id AND d.id = r.id),
  EXISTS (SELECT FROM devices d WHERE d.token_hash = r.token_hash)
FROM unnest($1::text[], $2::uuid[], $3::bytea[]) WITH ORDINALITY AS r (user_id, id, token_hash, ord)`

func (b *importBatch) mergeDevices(ctx context.Context, tx pgx.Tx) error {
	if len(b.devices) == 0 {
		return nil
	}
	type device = entry[*inbox.DeviceRecord]
	rows, err := tx.Query(ctx, importDevicesSQL,
		column(b.devices, func(d device) string { return d.record.UserID }),
		column(b.devices, func(d device) pgtype.UUID { return id(d.record.ID) }),
		column(b.devices, func(d device) string { return string(d.record.Provider) }),
		column(b.devices, func(d device) string { return d.record.Input().CanonicalToken() }),
		column(b.devices, func(d device) []byte { return tokenHash(d.record.Input()) }),
		column(b.devices, func(d device) *inbox.Platform { return d.record.Platform }),
		column(b.devices, func(d device) *string { return d.record.InstallationID }),
		column(b.devices, func(d device) *string { return d.record.Name }),
		column(b.devices, func(d device) time.Time { return d.record.CreatedAt }),
		column(b.devices, func(d device) time.Time { return d.record.LastSeenAt }),
		column(b.devices, func(d device) pgtype.Timestamptz { return timestamp(d.record.DisabledAt) }),
		column(b.devices, func(d device) *string { return d.record.DisabledReason }),
		MaxDevices)
	if err != nil {
		return err
	}
	written, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return err
	}
	b.out.New += len(written)
	isNew := setOf(written)
	return b.refuseDevices(ctx, tx, slices.DeleteFunc(slices.Clone(b.devices), func(d device) bool { return isNew[d.record.ID] }))
}

// refuseDevices tells why devices were not written, but for those that were there already.
func (b *importBatch) refuseDevices(ctx context.Context, tx pgx.Tx, devices []entry[*inbox.DeviceRecord]) error {
	if len(devices) == 0 {
		return nil
	}
	type device = entry[*inbox.DeviceRecord]
	rows, err := tx.Query(ctx, standingDevicesSQL,
		column(devices, func(d device) string { return d.record.UserID }),
		column(devices, func(d device) pgtype.UUID { return id(d.record.ID) }),
		column(devices, func(d device) []byte { return tokenHash(d.record.Input()) }))
	if err != nil {
		return err
	}
	var ord int64
	var isThere, hasToken bool
	_, err = pgx.ForEachRow(rows, []any{&ord, &isThere, &hasToken}, func() error {
		switch {
		case isThere:
		case hasToken:
			b.refuse(devices[ord-1].index, "token: is registered as another device by now")
		default:
			b.refuse(devices[ord-1].index, fmt.Sprintf("userId: has %d devices already", MaxDevices))
		}
		return nil
	})
	return err
}

const importDeliveriesSQL = `-- name: ImportDeliveries
INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, id, provider, state, error, detail,
  ticket, created_at, sent_at, settled_at)
SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[],
  $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[])
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeDeliveries(ctx context.Context, tx pgx.Tx) error {
	if len(b.deliveries) == 0 {
		return nil
	}
	type delivery = entry[*inbox.DeliveryRecord]
	tag, err := tx.Exec(ctx, importDeliveriesSQL,
		column(b.deliveries, func(d delivery) string { return d.record.UserID }),
		column(b.deliveries, func(d delivery) pgtype.Timestamptz { return at(d.record.Notification) }),
		column(b.deliveries, func(d delivery) pgtype.UUID { return id(d.record.Notification.ID) }),
		column(b.deliveries, func(d delivery) pgtype.UUID { return id(d.record.DeviceID) }),
		column(b.deliveries, func(d delivery) pgtype.UUID { return id(d.record.ID) }),
		column(b.deliveries, func(d delivery) string { return string(d.record.Provider) }),
		column(b.deliveries, func(d delivery) string { return stateOf(d.record.Status) }),
		column(b.deliveries, func(d delivery) *string { return d.record.Error }),
		column(b.deliveries, func(d delivery) *string { return d.record.Detail }),
		column(b.deliveries, func(d delivery) *string { return d.record.Ticket }),
		column(b.deliveries, func(d delivery) time.Time { return d.record.CreatedAt }),
		column(b.deliveries, func(d delivery) pgtype.Timestamptz { return timestamp(d.record.SentAt) }),
		column(b.deliveries, func(d delivery) pgtype.Timestamptz { return timestamp(d.record.SettledAt) }))
	b.out.New += int(tag.RowsAffected())
	return err
}

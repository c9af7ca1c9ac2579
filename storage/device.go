package storage

import (
	"context"
	"crypto/sha256"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

const deviceColumns = `d.user_id, d.id, d.provider, d.token, d.platform, d.installation_id, d.name, d.created_at,
    d.last_seen_at, d.disabled_at, d.disabled_reason`

// MaxDevices is the most devices that a user can have. Those that are switched off go as others come.
const MaxDevices = 100

// One registration of a user at a time: of two at once neither would see the other, so two tokens of one
// installation would both stay on, and the limit would be passed. It is a statement of its own, since what
// follows has to see what was there when the lock was got.
const lockDevicesSQL = `-- name: LockDevices
SELECT pg_advisory_xact_lock(hashtext('devices'), hashtext($1))`

// What was registered under the same installation by another token is switched off: two live tokens of one
// installation would show each push twice. The insert moves a token that another user has, as a device of
// another id, so that the old one's id leads nowhere. At the limit the one that was switched off first makes
// room: a hundred changes of a token must not lock a user out.
const registerDeviceSQL = `-- name: RegisterDevice
WITH room AS (
  SELECT WHERE EXISTS (SELECT FROM devices WHERE token_hash = $5 AND user_id = $1)
     OR (SELECT count(*) FROM devices WHERE user_id = $1 AND disabled_at IS NULL) < $9
), evicted AS (
  DELETE FROM devices d USING room WHERE d.user_id = $1 AND d.id = (
    SELECT id FROM devices WHERE user_id = $1 AND disabled_at IS NOT NULL AND token_hash <> $5
    ORDER BY disabled_at, id LIMIT 1)
  AND (SELECT count(*) FROM devices WHERE user_id = $1) >= $9
), replaced AS (
  UPDATE devices d SET disabled_at = clock_timestamp(), disabled_reason = 'Replaced' FROM room
  WHERE d.user_id = $1 AND d.provider = $3 AND d.installation_id = $7 AND d.token_hash <> $5 AND d.disabled_at IS NULL)
INSERT INTO devices AS d (user_id, id, provider, token, token_hash, platform, installation_id, name)
SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM room
ON CONFLICT (token_hash) DO UPDATE SET
  user_id = excluded.user_id,
  id = CASE WHEN d.user_id = excluded.user_id THEN d.id ELSE excluded.id END,
  created_at = CASE WHEN d.user_id = excluded.user_id THEN d.created_at ELSE excluded.created_at END,
  platform = excluded.platform, installation_id = excluded.installation_id, name = excluded.name,
  last_seen_at = excluded.last_seen_at, disabled_at = NULL, disabled_reason = NULL
RETURNING ` + deviceColumns

// RegisterDevice stores a device, revives it, or moves its token from another user. It returns false where
// the user has MaxDevices already that are on. The input must have passed its Check.
func (s *Store) RegisterDevice(ctx context.Context, userID string, in inbox.DeviceInput) (*inbox.Device, bool, error) {
	deviceID, err := newUUID()
	if err != nil {
		return nil, false, fault("register device", err)
	}
	var devices []*inbox.Device
	err = s.change(ctx, lockDevicesSQL, func(rows pgx.Rows) (err error) {
		devices, err = scanDevices(rows)
		return err
	}, registerDeviceSQL, userID, id(deviceID), in.Provider, in.CanonicalToken(), tokenHash(in),
		in.Platform, in.InstallationID, in.Name, MaxDevices)
	if err != nil || len(devices) == 0 {
		return nil, false, fault("register device", err)
	}
	return devices[0], true, nil
}

const unregisterDeviceSQL = `-- name: UnregisterDevice
DELETE FROM devices WHERE user_id = $1 AND id = $2`

// UnregisterDevice forgets a device of the user and reports whether there was one.
func (s *Store) UnregisterDevice(ctx context.Context, userID string, deviceID inbox.UUID) (bool, error) {
	tag, err := s.pool.Exec(ctx, unregisterDeviceSQL, userID, id(deviceID))
	return tag.RowsAffected() > 0, fault("unregister device", err)
}

const devicesSQL = `-- name: Devices
SELECT ` + deviceColumns + ` FROM devices d
WHERE d.user_id = ANY ($1::text[])
ORDER BY d.user_id, d.last_seen_at DESC, d.id DESC`

// Devices returns each user's devices, the last seen first.
func (s *Store) Devices(ctx context.Context, userIDs []string) (map[string][]*inbox.Device, error) {
	return Ask(ctx, s, userIDs, (*Batch).Devices)
}

// Devices adds a read of each user's devices, the last seen first.
func (b *Batch) Devices(userIDs []string) map[string][]*inbox.Device {
	found := make(map[string][]*inbox.Device, len(userIDs))
	b.query("devices", func(rows pgx.Rows) error {
		list, err := scanDevices(rows)
		for _, d := range list {
			found[d.UserID] = append(found[d.UserID], d)
		}
		return err
	}, devicesSQL, userIDs)
	return found
}

// scanDevices reads rows of deviceColumns and closes them.
func scanDevices(rows pgx.Rows) ([]*inbox.Device, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*inbox.Device, error) {
		d := &inbox.Device{}
		var disabledAt pgtype.Timestamptz
		err := row.Scan(&d.UserID, (*[16]byte)(&d.ID), &d.Provider, &d.Token, &d.Platform, &d.InstallationID, &d.Name,
			&d.CreatedAt, &d.LastSeenAt, &disabledAt, &d.DisabledReason)
		d.DisabledAt = timeOf(disabledAt)
		return d, err
	})
}

// tokenHash returns what a device is unique by, of the provider and the canonical token.
func tokenHash(in inbox.DeviceInput) []byte {
	hash := sha256.Sum256([]byte(string(in.Provider) + "\n" + in.CanonicalToken()))
	return hash[:]
}

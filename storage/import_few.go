package storage

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// mergeFew writes what is not there yet of the kinds of which a user has few.
func (b *importBatch) mergeFew(ctx context.Context, tx pgx.Tx) error {
	for _, merge := range []func(context.Context, pgx.Tx) error{
		b.mergeAccounts, b.mergeSettings, b.mergeSeen, b.mergeDevices, b.mergeDeliveries,
	} {
		if err := merge(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

const importAccountsSQL = `-- name: ImportAccounts
INSERT INTO accounts (user_id, email, display_name, avatar_url, created_at)
SELECT a.user_id, a.email, a.display_name, a.avatar_url, coalesce(a.created_at, clock_timestamp())
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
  AS a (user_id, email, display_name, avatar_url, created_at)
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeAccounts(ctx context.Context, tx pgx.Tx) error {
	if len(b.accounts) == 0 {
		return nil
	}
	type account = entry[*inbox.AccountRecord]
	tag, err := tx.Exec(ctx, importAccountsSQL,
		column(b.accounts, func(a account) string { return a.record.UserID }),
		column(b.accounts, func(a account) *string { return a.record.Email }),
		column(b.accounts, func(a account) string { return a.record.DisplayName }),
		column(b.accounts, func(a account) *string { return a.record.AvatarURL }),
		column(b.accounts, func(a account) pgtype.Timestamptz { return timestamp(a.record.CreatedAt) }))
	b.out.New += int(tag.RowsAffected())
	return err
}

const importSettingsSQL = `-- name: ImportSettings
INSERT INTO settings (user_id, theme, locale, time_zone, email_digest, updated_at)
SELECT s.user_id, s.theme, s.locale, s.time_zone, s.email_digest, coalesce(s.updated_at, clock_timestamp())
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
  AS s (user_id, theme, locale, time_zone, email_digest, updated_at)
ON CONFLICT DO NOTHING
RETURNING user_id`

const importPreferencesSQL = `-- name: ImportPreferences
INSERT INTO preferences (user_id, category, channel, enabled)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[])
ON CONFLICT DO NOTHING`

// mergeSettings writes a user's preferences with the settings, or neither: so there are never too many of them.
func (b *importBatch) mergeSettings(ctx context.Context, tx pgx.Tx) error {
	if len(b.settings) == 0 {
		return nil
	}
	type settings = entry[*inbox.SettingsRecord]
	rows, err := tx.Query(ctx, importSettingsSQL,
		column(b.settings, func(s settings) string { return s.record.UserID }),
		column(b.settings, func(s settings) *inbox.Theme { return s.record.Theme }),
		column(b.settings, func(s settings) *string { return s.record.Locale }),
		column(b.settings, func(s settings) *string { return s.record.TimeZone }),
		column(b.settings, func(s settings) *inbox.EmailDigest { return s.record.EmailDigest }),
		column(b.settings, func(s settings) pgtype.Timestamptz { return timestamp(s.record.UpdatedAt) }))
	if err != nil {
		return err
	}
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	b.out.New += len(written)
	isNew := setOf(written)
	type preference struct {
		userID string
		inbox.Preference
	}
	var list []preference
	for _, s := range b.settings {
		if !isNew[s.record.UserID] {
			continue
		}
		delete(isNew, s.record.UserID) // the first of a user's was written
		for _, p := range s.record.Preferences {
			list = append(list, preference{s.record.UserID, p})
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, importPreferencesSQL,
		column(list, func(p preference) string { return p.userID }),
		column(list, func(p preference) string { return p.Category }),
		column(list, func(p preference) string { return string(p.Channel) }),
		column(list, func(p preference) bool { return p.Enabled }))
	return err
}

func setOf[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, element := range list {
		set[element] = true
	}
	return set
}

const importSeenSQL = `-- name: ImportSeen
INSERT INTO seen_watermarks (user_id, created_at, id, horizon)
SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::uuid[])
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeSeen(ctx context.Context, tx pgx.Tx) error {
	if len(b.seen) == 0 {
		return nil
	}
	type seen = entry[*inbox.SeenRecord]
	tag, err := tx.Exec(ctx, importSeenSQL,
		column(b.seen, func(s seen) string { return s.record.UserID }),
		column(b.seen, func(s seen) pgtype.Timestamptz { return at(s.record.Through) }),
		column(b.seen, func(s seen) pgtype.UUID { return id(s.record.Through.ID) }),
		column(b.seen, func(s seen) pgtype.UUID { return id(s.record.Horizon) }))
	b.out.New += int(tag.RowsAffected())
	return err
}

package storage

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// settingsRow is a row of settingsColumns; a nil is the default.
type settingsRow struct {
	userID, theme, locale, timeZone, emailDigest *string
	updatedAt                                    pgtype.Timestamptz
}

func (r *settingsRow) targets() []any {
	return []any{&r.userID, &r.theme, &r.locale, &r.timeZone, &r.emailDigest, &r.updatedAt}
}

func (r settingsRow) settings() *inbox.Settings {
	s := &inbox.Settings{
		UserID:      *r.userID,
		Theme:       inbox.Theme(orDefault(r.theme, string(inbox.DefaultTheme))),
		Locale:      orDefault(r.locale, inbox.DefaultLocale),
		TimeZone:    orDefault(r.timeZone, inbox.DefaultTimeZone),
		EmailDigest: inbox.EmailDigest(orDefault(r.emailDigest, string(inbox.DefaultEmailDigest))),
	}
	s.UpdatedAt = timeOf(r.updatedAt)
	return s
}

func orDefault(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

const updateSettingsSQL = `-- name: UpdateSettings
INSERT INTO settings AS s (user_id, theme, locale, time_zone, email_digest, updated_at)
VALUES ($1, $2, $3, $4, $5, clock_timestamp())
ON CONFLICT (user_id) DO UPDATE SET
  theme = CASE WHEN $6::boolean THEN excluded.theme ELSE s.theme END,
  locale = CASE WHEN $7::boolean THEN excluded.locale ELSE s.locale END,
  time_zone = CASE WHEN $8::boolean THEN excluded.time_zone ELSE s.time_zone END,
  email_digest = CASE WHEN $9::boolean THEN excluded.email_digest ELSE s.email_digest END,
  updated_at = excluded.updated_at
RETURNING ` + settingsColumns

// UpdateSettings changes some of a user's settings and returns all of them. The change must have passed
// its Check.
func (s *Store) UpdateSettings(ctx context.Context, userID string, ch inbox.SettingsChange) (*inbox.Settings, error) {
	var r settingsRow
	err := s.pool.QueryRow(ctx, updateSettingsSQL, userID,
		ch.Theme.Value, ch.Locale.Value, ch.TimeZone.Value, ch.EmailDigest.Value,
		ch.Theme.Set, ch.Locale.Set, ch.TimeZone.Set, ch.EmailDigest.Set).Scan(r.targets()...)
	if err != nil {
		return nil, fault("update settings", err)
	}
	return r.settings(), nil
}

// A user has at most inbox.MaxPreferences rows, since a settings object holds them all.
const setPreferenceSQL = `-- name: SetPreference
WITH chosen AS (
  INSERT INTO preferences AS p (user_id, category, channel, enabled)
  SELECT $1, $2, $3, $4
  WHERE EXISTS (SELECT FROM preferences WHERE user_id = $1 AND category = $2 AND channel = $3)
     OR (SELECT count(*) FROM preferences WHERE user_id = $1) < $5
  ON CONFLICT (user_id, category, channel) DO UPDATE SET enabled = excluded.enabled
  RETURNING p.user_id)
INSERT INTO settings AS s (user_id, updated_at)
SELECT user_id, clock_timestamp() FROM chosen
ON CONFLICT (user_id) DO UPDATE SET updated_at = excluded.updated_at
RETURNING ` + settingsColumns

// SetPreference stores one switch of a user and returns the settings, or false where the user has
// inbox.MaxPreferences of them already. The preference must have passed its Check.
func (s *Store) SetPreference(ctx context.Context, userID string, p inbox.Preference) (*inbox.Settings, bool, error) {
	var r settingsRow
	err := s.pool.QueryRow(ctx, setPreferenceSQL, userID, p.Category, p.Channel, p.Enabled, inbox.MaxPreferences).
		Scan(r.targets()...)
	if isNoRows(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fault("set preference", err)
	}
	return r.settings(), true, nil
}

const preferencesSQL = `-- name: Preferences
SELECT p.user_id, p.category, p.channel, p.enabled FROM preferences p
WHERE p.user_id = ANY ($1::text[])
ORDER BY p.user_id, p.category COLLATE "C", p.channel`

// Preferences adds a read of what each user has chosen, by category and channel.
func (b *Batch) Preferences(userIDs []string) map[string][]*inbox.Preference {
	found := make(map[string][]*inbox.Preference, len(userIDs))
	b.query("preferences", func(rows pgx.Rows) error { return scanPreferences(rows, found) }, preferencesSQL, userIDs)
	return found
}

// preferencesOf adds a read of the preferences of settings that an earlier read of the batch finds.
func (b *Batch) preferencesOf(userIDs []string, settings func(userID string) *inbox.Settings) {
	b.query("preferences", func(rows pgx.Rows) error {
		found := make(map[string][]*inbox.Preference, len(userIDs))
		err := scanPreferences(rows, found)
		for _, u := range userIDs {
			settings(u).Preferences = append([]*inbox.Preference{}, found[u]...) // not nil: it was asked for
		}
		return err
	}, preferencesSQL, userIDs)
}

// scanPreferences reads rows of preferencesSQL, by user, and closes them.
func scanPreferences(rows pgx.Rows, found map[string][]*inbox.Preference) error {
	var user string
	var p inbox.Preference
	_, err := pgx.ForEachRow(rows, []any{&user, &p.Category, &p.Channel, &p.Enabled}, func() error {
		chosen := p
		found[user] = append(found[user], &chosen)
		return nil
	})
	return err
}

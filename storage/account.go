package storage

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// Profile is what a user's account and settings tables hold.
type Profile struct {
	// Account is nil where there is none, or where it was not asked for.
	Account *inbox.Account
	// Settings has the defaults where there are none, and is nil where they were not asked for.
	Settings *inbox.Settings
}

const (
	accountColumns  = `a.user_id, a.email, a.display_name, a.avatar_url, a.created_at`
	settingsColumns = `s.user_id, s.theme, s.locale, s.time_zone, s.email_digest, s.updated_at`
)

const accountsSQL = `-- name: Accounts
SELECT ` + accountColumns + ` FROM accounts a WHERE a.user_id = ANY ($1::text[])`

const settingsSQL = `-- name: Settings
SELECT ` + settingsColumns + ` FROM settings s WHERE s.user_id = ANY ($1::text[])`

const accountsAndSettingsSQL = `-- name: AccountsAndSettings
SELECT ` + accountColumns + `, ` + settingsColumns + `
FROM unnest($1::text[]) AS u (user_id)
LEFT JOIN accounts a ON a.user_id = u.user_id
LEFT JOIN settings s ON s.user_id = u.user_id`

// Accounts returns the accounts of those users that have one.
func (s *Store) Accounts(ctx context.Context, userIDs []string) (map[string]*inbox.Account, error) {
	return Ask(ctx, s, userIDs, (*Batch).Accounts)
}

// Accounts adds a read of the accounts of those users that have one.
func (b *Batch) Accounts(userIDs []string) map[string]*inbox.Account {
	var a accountRow
	found := make(map[string]*inbox.Account, len(userIDs))
	b.each("accounts", accountsSQL, userIDs, a.targets(), func() { found[*a.userID] = a.account() })
	return found
}

// Settings returns every user's settings.
func (s *Store) Settings(ctx context.Context, userIDs []string) (map[string]*inbox.Settings, error) {
	return Ask(ctx, s, userIDs, func(b *Batch, users []string) map[string]*inbox.Settings { return b.Settings(users, false) })
}

// Settings adds a read of every user's settings, and one of their preferences where they are wanted.
func (b *Batch) Settings(userIDs []string, withPreferences bool) map[string]*inbox.Settings {
	var r settingsRow
	found := defaultSettings(userIDs)
	b.each("settings", settingsSQL, userIDs, r.targets(), func() { found[*r.userID] = r.settings() })
	if withPreferences {
		b.preferencesOf(userIDs, func(user string) *inbox.Settings { return found[user] })
	}
	return found
}

// Profiles adds a read of every user's account and settings, by one statement, and one of their preferences
// where they are wanted.
func (b *Batch) Profiles(userIDs []string, withPreferences bool) map[string]Profile {
	var a accountRow
	var r settingsRow
	profiles := make(map[string]Profile, len(userIDs))
	for u, settings := range defaultSettings(userIDs) {
		profiles[u] = Profile{Settings: settings}
	}
	b.each("accounts and settings", accountsAndSettingsSQL, userIDs, append(a.targets(), r.targets()...), func() {
		if a.userID != nil {
			p := profiles[*a.userID]
			p.Account = a.account()
			profiles[*a.userID] = p
		}
		if r.userID != nil {
			p := profiles[*r.userID]
			p.Settings = r.settings()
			profiles[*r.userID] = p
		}
	})
	if withPreferences {
		b.preferencesOf(userIDs, func(user string) *inbox.Settings { return profiles[user].Settings })
	}
	return profiles
}

func defaultSettings(userIDs []string) map[string]*inbox.Settings {
	settings := make(map[string]*inbox.Settings, len(userIDs))
	for _, u := range userIDs {
		settings[u] = settingsRow{userID: &u}.settings()
	}
	return settings
}

// accountRow is a row of accountColumns; all nil where a join found none.
type accountRow struct {
	userID, email, displayName, avatarURL *string
	createdAt                             pgtype.Timestamptz
}

func (r *accountRow) targets() []any {
	return []any{&r.userID, &r.email, &r.displayName, &r.avatarURL, &r.createdAt}
}

func (r *accountRow) account() *inbox.Account {
	return &inbox.Account{
		UserID: *r.userID, Email: r.email, DisplayName: *r.displayName, AvatarURL: r.avatarURL, CreatedAt: r.createdAt.Time,
	}
}

const putAccountSQL = `-- name: PutAccount
INSERT INTO accounts AS a (user_id, email, display_name, avatar_url, created_at)
VALUES ($1, $2, $3, $4, coalesce($5::timestamptz, clock_timestamp()))
ON CONFLICT (user_id) DO UPDATE SET
  email = excluded.email, display_name = excluded.display_name, avatar_url = excluded.avatar_url,
  created_at = coalesce($5, a.created_at)`

// PutAccount creates or replaces an account. The input must have passed its Check.
func (s *Store) PutAccount(ctx context.Context, in inbox.AccountInput) error {
	_, err := s.pool.Exec(ctx, putAccountSQL, in.UserID, in.Email, in.DisplayName, in.AvatarURL, in.CreatedAt)
	return fault("put account", err)
}

// isNoRows reports whether a statement that returns one row has found none.
func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

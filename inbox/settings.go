package inbox

import (
	"regexp"
	"time"
)

// Theme is how the interface looks.
type Theme string

// The themes.
const (
	ThemeSystem Theme = "SYSTEM"
	ThemeLight  Theme = "LIGHT"
	ThemeDark   Theme = "DARK"
)

// EmailDigest is how often a summary is mailed.
type EmailDigest string

// The digests.
const (
	DigestNever  EmailDigest = "NEVER"
	DigestDaily  EmailDigest = "DAILY"
	DigestWeekly EmailDigest = "WEEKLY"
)

// Channel is a way to reach a user.
type Channel string

// The channels.
const (
	ChannelInApp Channel = "IN_APP"
	ChannelPush  Channel = "PUSH"
	ChannelEmail Channel = "EMAIL"
)

// What a user has who chose nothing.
const (
	DefaultTheme       = ThemeSystem
	DefaultLocale      = "en"
	DefaultTimeZone    = "UTC"
	DefaultEmailDigest = DigestNever
)

// Settings is what a user has chosen, with the defaults for the rest.
type Settings struct {
	UserID      string
	Theme       Theme
	Locale      string
	TimeZone    string
	EmailDigest EmailDigest
	// UpdatedAt is nil before the first change.
	UpdatedAt *time.Time
	// Preferences is nil where they were not asked for.
	Preferences []*Preference
}

// NodeID returns the opaque id.
func (s *Settings) NodeID() string { return NodeID{Kind: KindSettings, UserID: s.UserID}.String() }

// Change is a new value for a setting. The zero Change leaves the setting as it is; one that is Set
// with a nil Value puts the default back.
type Change[T any] struct {
	Set   bool
	Value *T
}

// SettingsChange says what to change of a user's settings.
type SettingsChange struct {
	Theme       Change[Theme]
	Locale      Change[string]
	TimeZone    Change[string]
	EmailDigest Change[EmailDigest]
}

// languageTag is BCP 47 (RFC 5646, section 2.1) without the grandfathered tags: language with up to
// three extended subtags, script, region, variants, extensions, private use.
var languageTag = regexp.MustCompile(`^(?i:[a-z]{2,3}(-[a-z]{3}){0,3}|[a-z]{4,8})` +
	`(-(?i:[a-z]{4}))?(-(?i:[a-z]{2}|[0-9]{3}))?(-(?i:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*` +
	`(-(?i:[0-9a-wy-z](-[a-z0-9]{2,8})+))*(-(?i:x(-[a-z0-9]{1,8})+))?$`)

// maxLocale is the longest language tag, in bytes.
const maxLocale = 64

// Check returns what is wrong with the change, nil where nothing is.
func (ch SettingsChange) Check() []*UserError {
	var c checker
	if l := ch.Locale.Value; l != nil && (len(*l) > maxLocale || !languageTag.MatchString(*l)) {
		c.invalid("must be a language tag of BCP 47, such as pt-BR", "input", "locale")
	}
	if z := ch.TimeZone.Value; z != nil && !isTimeZone(*z) {
		c.invalid("must be an IANA time zone, such as Europe/Berlin", "input", "timeZone")
	}
	return c.errors
}

// isTimeZone reports whether the name is in the IANA database. Local is the server's own zone and
// means nothing to a client.
func isTimeZone(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// Preference is one switch of a user: a category on a channel.
type Preference struct {
	Category string
	Channel  Channel
	Enabled  bool
}

// MaxPreferences is the most preferences that a user can have set.
const MaxPreferences = 1000

// Check returns what is wrong with the preference, nil where nothing is.
func (p Preference) Check() []*UserError {
	var c checker
	c.line(p.Category, 1, maxCategory, "input", "category")
	return c.errors
}

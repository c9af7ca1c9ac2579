package inbox

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AccountRecord is an account of an export or of an existing system.
type AccountRecord struct {
	AccountInput
}

// Owner implements Record.
func (r *AccountRecord) Owner() string { return r.UserID }

// SettingsRecord is all that a user has chosen. A nil is the default.
type SettingsRecord struct {
	UserID      string
	Theme       *Theme
	Locale      *string
	TimeZone    *string
	EmailDigest *EmailDigest
	Preferences []Preference
	// UpdatedAt is nil for the time of the import.
	UpdatedAt *time.Time
}

// Owner implements Record.
func (r *SettingsRecord) Owner() string { return r.UserID }

// Check implements Record.
func (r *SettingsRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(r.UserID, "userId")
	if t := r.Theme; t != nil && *t != ThemeSystem && *t != ThemeLight && *t != ThemeDark {
		c.invalid("must be SYSTEM, LIGHT or DARK", "theme")
	}
	if d := r.EmailDigest; d != nil && *d != DigestNever && *d != DigestDaily && *d != DigestWeekly {
		c.invalid("must be NEVER, DAILY or WEEKLY", "emailDigest")
	}
	change := SettingsChange{Locale: Change[string]{Value: r.Locale}, TimeZone: Change[string]{Value: r.TimeZone}}
	c.errors = append(c.errors, change.Check()...)
	r.checkPreferences(&c)
	c.instant(r.UpdatedAt, now, "updatedAt")
	return c.errors
}

func (r *SettingsRecord) checkPreferences(c *checker) {
	if len(r.Preferences) > MaxPreferences {
		c.tooLarge("must have at most "+strconv.Itoa(MaxPreferences)+" elements", "preferences")
		return
	}
	type choice struct {
		category string
		channel  Channel
	}
	seen := make(map[choice]bool, len(r.Preferences))
	for i, p := range r.Preferences {
		at := strconv.Itoa(i)
		c.line(p.Category, 1, maxCategory, "preferences", at, "category")
		if p.Channel != ChannelInApp && p.Channel != ChannelPush && p.Channel != ChannelEmail {
			c.invalid("must be IN_APP, PUSH or EMAIL", "preferences", at, "channel")
		}
		if seen[choice{p.Category, p.Channel}] {
			c.invalid("is there twice", "preferences", at)
		}
		seen[choice{p.Category, p.Channel}] = true
	}
}

// DeviceRecord is a device of an export, switched on or off.
type DeviceRecord struct {
	Device
}

// Owner implements Record.
func (r *DeviceRecord) Owner() string { return r.UserID }

// Input returns the device as a client registers it.
func (r *DeviceRecord) Input() DeviceInput {
	return DeviceInput{
		Provider: r.Provider, Token: r.Token, Platform: r.Platform, InstallationID: r.InstallationID, Name: r.Name,
	}
}

// maxForeign is the longest text of a provider that an import takes, in bytes.
const maxForeign = 64 << 10

// foreign wants a text of a provider's making, of which no more is known than that Postgres can hold it.
func (c *checker) foreign(s *string, field string) {
	if s != nil && (len(*s) > maxForeign || !utf8.ValidString(*s) || strings.Contains(*s, "\x00")) {
		c.invalid("must be UTF-8 without NUL, of at most "+strconv.Itoa(maxForeign)+" bytes", field)
	}
}

// Check implements Record.
func (r *DeviceRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(r.UserID, "userId")
	if p := r.Platform; p != nil && *p != PlatformIOS && *p != PlatformAndroid && *p != PlatformWeb {
		c.invalid("must be IOS, ANDROID or WEB", "platform")
	}
	c.errors = append(c.errors, r.Input().Check()...)
	c.instant(&r.CreatedAt, now, "createdAt")
	c.instant(&r.LastSeenAt, now, "lastSeenAt")
	c.instant(r.DisabledAt, now, "disabledAt")
	if (r.DisabledAt == nil) != (r.DisabledReason == nil) {
		c.invalid("disabledAt and disabledReason go together", "disabledReason")
	}
	c.foreign(r.DisabledReason, "disabledReason")
	return c.errors
}

// DeliveryRecord is a line of the push ledger.
type DeliveryRecord struct {
	UserID string
	// Notification is the place of the notification.
	Notification Cursor
	DeviceID     UUID
	ID           UUID
	Provider     Provider
	Status       PushStatus
	Error        *string
	Detail       *string
	Ticket       *string
	CreatedAt    time.Time
	SentAt       *time.Time
	SettledAt    *time.Time
}

// Owner implements Record.
func (r *DeliveryRecord) Owner() string { return r.UserID }

// errImported is why a push that waited at the time of the export failed: whether another server has sent it
// meanwhile nobody knows, and a push is never repeated.
const errImported = "imported"

// Settle fails a push that waited or was being sent.
func (r *DeliveryRecord) Settle(now time.Time) {
	if r.Status == PushQueued || r.Status == PushSending {
		r.Status, r.Error, r.SentAt, r.SettledAt = PushFailed, new(errImported), nil, &now
	}
}

// Check implements Record.
func (r *DeliveryRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(r.UserID, "userId")
	if r.Provider != ProviderExpo && r.Provider != ProviderWebPush {
		c.invalid("must be EXPO or WEB_PUSH", "provider")
	}
	if r.ID == MinUUID {
		c.invalid(required, "id")
	}
	r.checkStatus(&c)
	c.foreign(r.Error, "error")
	c.foreign(r.Detail, "detail")
	c.foreign(r.Ticket, "ticket")
	c.instant(&r.CreatedAt, now, "createdAt")
	c.instant(r.SentAt, now, "sentAt")
	c.instant(r.SettledAt, now, "settledAt")
	return c.errors
}

// checkStatus wants what the database wants of a line in its state.
func (r *DeliveryRecord) checkStatus(c *checker) {
	isFinal, isSent, isError := true, true, false
	switch r.Status {
	case PushQueued, PushSending:
		return // see Settle
	case PushSent:
		isFinal = false
	case PushDelivered, PushUnknown:
	case PushReceiptError:
		isError = true
	case PushFailed, PushSuppressed:
		isSent, isError = false, true
	default:
		c.invalid("must be one of "+strings.Join(pushStatuses, ", "), "status")
		return
	}
	if isFinal != (r.SettledAt != nil) {
		c.invalid("is there for a final status, and for no other", "settledAt")
	}
	if isSent && r.SentAt == nil {
		c.invalid("is required with this status", "sentAt")
	}
	if isError != (r.Error != nil) && r.Status != PushUnknown {
		c.invalid("is there for FAILED, RECEIPT_ERROR and SUPPRESSED, and for no other status", "error")
	}
}

var pushStatuses = []string{
	string(PushQueued), string(PushSending), string(PushSent), string(PushDelivered), string(PushFailed),
	string(PushReceiptError), string(PushUnknown), string(PushSuppressed),
}

package inbox

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// Record is one thing that an export writes and an import reads: an *AccountRecord, a *SettingsRecord, a
// *SeenRecord, a *DeviceRecord, a *NotificationRecord, an *ActivityRecord, an *ItemRecord, a *ClaimRecord or a
// *DeliveryRecord.
type Record interface {
	// Owner returns the id of the user whose record it is.
	Owner() string
	// Check returns what is wrong with the record, nil where nothing is. An import writes none that it
	// has not passed.
	Check(now time.Time) []*UserError
}

// ImportOutcome is what became of a batch of records. Those that are neither new nor refused were there already.
type ImportOutcome struct {
	New     int
	Refused []Refusal
}

// Refusal is a record that was not written, by its place in the batch.
type Refusal struct {
	Index   int
	Message string
}

// Claim is what keeps an event or an activity from being written twice.
type Claim struct {
	// Key is unique among the user's claims.
	Key         string
	ContentHash [sha256.Size]byte
	CreatedAt   time.Time
}

// maxClaimKey is longer than every key that a checked event can have, escapes included, in bytes.
const maxClaimKey = 2048

func (cl *Claim) check(c *checker, now time.Time, path ...string) {
	at := func(field string) []string { return append(path[:len(path):len(path)], field) }
	c.line(cl.Key, 1, maxClaimKey, at("key")...)
	if !strings.HasPrefix(cl.Key, notificationKeys) && !strings.HasPrefix(cl.Key, activityKeys) {
		c.invalid("must begin with "+notificationKeys+" or "+activityKeys, at("key")...)
	}
	if cl.ContentHash == [sha256.Size]byte{} {
		c.invalid(required, at("contentHash")...)
	}
	c.instant(&cl.CreatedAt, now, at("createdAt")...)
}

// required is said of what is not there.
const required = "is required"

// The beginnings of claims' keys.
const (
	notificationKeys = "notification:"
	activityKeys     = "activity:"
)

// importedKey is a producer's key for what came without one: the same content makes the same, so that a second
// import of a file finds what the first has written.
func importedKey(hash [sha256.Size]byte) string { return "import:" + hex.EncodeToString(hash[:]) }

// importedUUID returns a UUIDv7 of the time of a record, or of now where that is earlier, whose other bits
// are a digest of its claim: an import that is repeated, or begun again after a crash, makes the same ids.
// History counts as having arrived when it happened, so it does not come up as unseen below a watermark.
func importedUUID(userID, key string, createdAt, now time.Time) UUID {
	if createdAt.After(now) {
		createdAt = now
	}
	sum := sha256.Sum256([]byte(userID + "\n" + key))
	u := UUID(sum[:len(UUID{})])
	var ms [8]byte
	//nolint:gosec // Times before 1970 were refused.
	binary.BigEndian.PutUint64(ms[:], uint64(createdAt.UnixMilli()))
	copy(u[:6], ms[2:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return u
}

// NotificationRecord is a notification of an export, or of an existing system's history.
type NotificationRecord struct {
	UserID string
	// Event is what the user is told; its Recipients are not looked at, and OccurredAt is when it was told.
	Event      Event
	ReadAt     *time.Time
	ArchivedAt *time.Time
	// Position is where it lies in the feed. Place sets it where IsRestored is false.
	Position Cursor
	// IsRestored tells a notification of an export, which goes back to its Position.
	IsRestored bool
	// Claim is nil where an exported notification had none any more. Place sets it where IsRestored is false.
	Claim *Claim
}

// Owner implements Record.
func (n *NotificationRecord) Owner() string { return n.UserID }

// Check implements Record.
func (n *NotificationRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(n.UserID, "userId")
	switch hasKey := n.Event.RunID != nil || n.Event.IdempotencyKey != nil; {
	case n.IsRestored && hasKey:
		c.invalid("id excludes runId and idempotencyKey", "id")
	case hasKey:
		n.Event.checkKey(&c)
	}
	if n.Claim != nil {
		n.Claim.check(&c, now, "claim")
	}
	n.Event.checkContent(&c, now)
	c.instant(n.ReadAt, now, "readAt")
	c.instant(n.ArchivedAt, now, "archivedAt")
	return c.errors
}

// Place gives a notification of a history its claim, which is that of a dispatch of the same event, and its
// position, both the same whenever it is imported. It must have passed its Check.
func (n *NotificationRecord) Place(now time.Time) {
	if n.IsRestored {
		return
	}
	hash := n.Event.ContentHash()
	keyed := n.Event
	if keyed.RunID == nil && keyed.IdempotencyKey == nil {
		keyed.RunID = new(importedKey(hash))
	}
	n.Claim = &Claim{Key: keyed.KeyPrefix() + n.UserID, ContentHash: hash, CreatedAt: now}
	n.Position.CreatedAt = now
	if n.Event.OccurredAt != nil {
		n.Position.CreatedAt = *n.Event.OccurredAt
	}
	n.Position.ID = importedUUID(n.UserID, n.Claim.Key, n.Position.CreatedAt, now)
}

// HasContent reports whether a claim's hash is of the same content. A dispatch that named no time had the
// server's, which a history then tells: that is the same event.
func (n *NotificationRecord) HasContent(hash []byte) bool {
	if string(hash) == string(n.Claim.ContentHash[:]) {
		return true
	}
	timeless := n.Event
	timeless.OccurredAt = nil
	sum := timeless.ContentHash()
	return !n.IsRestored && string(hash) == string(sum[:])
}

// ClaimRecord is a claim whose notification or activity is gone.
type ClaimRecord struct {
	UserID string
	Claim  Claim
	// Subject is where the notification or activity lay.
	Subject Cursor
}

// Owner implements Record.
func (r *ClaimRecord) Owner() string { return r.UserID }

// Check implements Record.
func (r *ClaimRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(r.UserID, "userId")
	r.Claim.check(&c, now)
	return c.errors
}

// SubjectID returns the opaque id of what the claim stands for.
func (r *ClaimRecord) SubjectID() string {
	kind := KindNotification
	if strings.HasPrefix(r.Claim.Key, activityKeys) {
		kind = KindActivity
	}
	return NodeID{Kind: kind, UserID: r.UserID, Position: r.Subject}.String()
}

// SeenRecord is how far a user has seen the list.
type SeenRecord struct {
	UserID string
	// Through is the newest position that was seen.
	Through Cursor
	// Horizon is a UUIDv7: what arrived before it and lies at or below Through has been seen.
	Horizon UUID
}

// Owner implements Record.
func (r *SeenRecord) Owner() string { return r.UserID }

// Check implements Record.
func (r *SeenRecord) Check(now time.Time) []*UserError {
	var c checker
	c.userID(r.UserID, "userId")
	c.instant(&r.Through.CreatedAt, now, "through")
	if r.Horizon == MinUUID {
		c.invalid(required, "horizon")
	}
	return c.errors
}

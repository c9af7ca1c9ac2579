package inbox

import "time"

// ActivityRecord is an activity of an export, or of an existing system's history.
type ActivityRecord struct {
	// OccurredAt is when it was done; without ExpiresAt it is kept for ever.
	ActivityInput
	// Position is where it lies in the list. Place sets it where IsRestored is false.
	Position Cursor
	// IsRestored tells an activity of an export, which goes back to its Position.
	IsRestored bool
	// Claim is nil where an exported activity had none. Place sets it where IsRestored is false.
	Claim *Claim
}

// Owner implements Record.
func (a *ActivityRecord) Owner() string { return a.UserID }

// Check implements Record.
func (a *ActivityRecord) Check(now time.Time) []*UserError {
	c := checker{errors: a.ActivityInput.Check(now)}
	if a.IsRestored && a.IdempotencyKey != nil {
		c.invalid("id excludes idempotencyKey", "id")
	}
	if a.Claim != nil {
		a.Claim.check(&c, now, "claim")
	}
	return c.errors
}

// Place gives an activity of a history its claim, which is that of the same activity by the API, and its position,
// both the same whenever it is imported. It must have passed its Check.
func (a *ActivityRecord) Place(now time.Time) {
	if a.IsRestored {
		return
	}
	hash := a.ContentHash()
	keyed := a.ActivityInput
	if keyed.IdempotencyKey == nil {
		keyed.IdempotencyKey = new(importedKey(hash))
	}
	a.Claim = &Claim{Key: *keyed.Key(), ContentHash: hash, CreatedAt: now}
	a.Position.CreatedAt = now
	if a.OccurredAt != nil {
		a.Position.CreatedAt = *a.OccurredAt
	}
	a.Position.ID = importedUUID(a.UserID, a.Claim.Key, a.Position.CreatedAt, now)
}

// HasContent reports whether a claim's hash is of the same content; see NotificationRecord.HasContent.
func (a *ActivityRecord) HasContent(hash []byte) bool {
	if string(hash) == string(a.Claim.ContentHash[:]) {
		return true
	}
	timeless := a.ActivityInput
	timeless.OccurredAt = nil
	sum := timeless.ContentHash()
	return !a.IsRestored && string(hash) == string(sum[:])
}

// ItemRecord is an item of an export or of an existing system.
type ItemRecord struct {
	ItemInput
}

// Owner implements Record.
func (r *ItemRecord) Owner() string { return r.UserID }

// Place gives an item that does not say when it was made the time of the import.
func (r *ItemRecord) Place(now time.Time) {
	if r.CreatedAt == nil {
		r.CreatedAt = &now
	}
}

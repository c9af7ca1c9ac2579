package inbox

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Activity is something that a user did, as the host application tells it.
type Activity struct {
	UserID    string
	CreatedAt time.Time
	ID        UUID
	Verb      string
	Object    *string
	URL       *string
	Data      json.RawMessage
	// ExpiresAt is when it may be removed; nil for never. Until it is removed it is listed.
	ExpiresAt *time.Time
}

// Cursor returns the activity's place in the user's list.
func (a *Activity) Cursor() Cursor { return Cursor{a.CreatedAt, a.ID} }

// ActivityEdge is an activity in a list.
type ActivityEdge struct{ Edge[*Activity] }

// NodeID returns the opaque id.
func (a *Activity) NodeID() string {
	return NodeID{Kind: KindActivity, UserID: a.UserID, Position: a.Cursor()}.String()
}

// AppendNodeID appends the opaque id.
func (a *Activity) AppendNodeID(b []byte) []byte {
	return NodeID{Kind: KindActivity, UserID: a.UserID, Position: a.Cursor()}.Append(b)
}

// The limits of an activity, in bytes.
const (
	maxVerb   = 128
	maxObject = 1024
)

// ActivityInput is an activity as the host application sends it.
type ActivityInput struct {
	UserID string
	Verb   string
	Object *string
	URL    *string
	Data   json.RawMessage
	// OccurredAt is nil for the server's time.
	OccurredAt *time.Time
	// ExpiresAt is nil for what the server is configured to.
	ExpiresAt *time.Time
	// IdempotencyKey is nil where each call is to write an activity of its own.
	IdempotencyKey *string
}

// Check returns what is wrong with the activity, nil where nothing is.
func (in *ActivityInput) Check(now time.Time) []*UserError {
	var c checker
	c.userID(in.UserID, "input", "userId")
	c.line(in.Verb, 1, maxVerb, "input", "verb")
	if in.Object != nil {
		c.line(*in.Object, 0, maxObject, "input", "object")
	}
	c.url(in.URL, "input", "url")
	c.json(in.Data, "input", "data")
	c.instant(in.OccurredAt, now, "input", "occurredAt")
	createdAt := now
	if in.OccurredAt != nil {
		createdAt = *in.OccurredAt
	}
	if in.ExpiresAt != nil && !in.ExpiresAt.After(createdAt) {
		c.invalid("must be later than when it was done", "input", "expiresAt")
	}
	if in.IdempotencyKey != nil {
		c.line(*in.IdempotencyKey, 1, maxIdempotencyKey, "input", "idempotencyKey")
	}
	return c.errors
}

// Key returns the key of the claim, activity:{SHA-256 of the caller's own in hex}; nil where there is none.
func (in *ActivityInput) Key() *string {
	if in.IdempotencyKey == nil {
		return nil
	}
	key := activityKeys + hashedKey(*in.IdempotencyKey)
	return &key
}

// ContentHash returns a digest of all but the user and the key. Two calls with one key and two digests are
// a conflict.
func (in *ActivityInput) ContentHash() [sha256.Size]byte {
	c := newContent()
	data := string(in.Data)
	c.text(&in.Verb)
	c.text(in.Object)
	c.text(in.URL)
	c.text(&data)
	c.instant(in.OccurredAt)
	c.instant(in.ExpiresAt)
	return c.hash()
}

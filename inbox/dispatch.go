package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The limits of an event; sizes in bytes.
const (
	MaxRecipients     = 10_000
	maxRunID          = 256
	maxIdempotencyKey = 1024
	maxKind           = 128
	maxCategory       = 128
	maxTitle          = 1024
	maxBody           = 16 << 10
	maxData           = 4 << 10
)

// Event is something that happened, to be told to its recipients at most once each.
type Event struct {
	// RunID and IdempotencyKey: exactly one is set.
	RunID, IdempotencyKey *string
	Kind                  string
	Category              string
	// Recipients are user ids; repeats count once.
	Recipients []string
	ActorID    *string
	Title      string
	Body       *string
	URL        *string
	Data       json.RawMessage
	// OccurredAt is nil for the server's time.
	OccurredAt *time.Time
}

// Check returns what is wrong with the event, nil where nothing is.
func (e *Event) Check(now time.Time) []*UserError {
	var c checker
	e.checkKey(&c)
	e.checkRecipients(&c)
	e.checkContent(&c, now)
	return c.errors
}

// checkContent looks at all but the key and the recipients.
func (e *Event) checkContent(c *checker, now time.Time) {
	c.line(e.Kind, 1, maxKind, "input", "kind")
	c.line(e.Category, 1, maxCategory, "input", "category")
	if e.ActorID != nil {
		c.userID(*e.ActorID, "input", "actor")
	}
	c.line(e.Title, 1, maxTitle, "input", "title")
	c.text(e.Body, maxBody, "input", "body")
	c.url(e.URL, "input", "url")
	c.json(e.Data, "input", "data")
	c.instant(e.OccurredAt, now, "input", "occurredAt")
}

func (e *Event) checkKey(c *checker) {
	switch {
	case e.RunID != nil && e.IdempotencyKey != nil:
		c.invalid("runId and idempotencyKey exclude each other", "input", "idempotencyKey")
	case e.RunID != nil:
		c.line(*e.RunID, 1, maxRunID, "input", "runId")
	case e.IdempotencyKey != nil:
		c.line(*e.IdempotencyKey, 1, maxIdempotencyKey, "input", "idempotencyKey")
	default:
		c.invalid("one of runId and idempotencyKey is required", "input", "runId")
	}
}

func (e *Event) checkRecipients(c *checker) {
	if len(e.Recipients) == 0 {
		c.invalid("at least one recipient is required", "input", "recipients")
	}
	if n := len(e.DistinctRecipients()); n > MaxRecipients {
		c.tooLarge(fmt.Sprintf("has %d recipients, at most %d are allowed", n, MaxRecipients), "input", "recipients")
		return
	}
	for i, r := range e.Recipients {
		c.userID(r, "input", "recipients", strconv.Itoa(i))
	}
}

// DistinctRecipients returns the recipients in the order of their first mention.
func (e *Event) DistinctRecipients() []string { return distinct(e.Recipients) }

// distinct returns the texts in the order of their first mention.
func distinct(texts []string) []string {
	seen := make(map[string]struct{}, len(texts))
	list := make([]string, 0, len(texts))
	for _, t := range texts {
		if _, ok := seen[t]; !ok {
			seen[t] = struct{}{}
			list = append(list, t)
		}
	}
	return list
}

// escapeColon keeps keys apart whose parts hold the separator: run a:b with kind c is not run a with
// kind b:c.
var escapeColon = strings.NewReplacer("%", "%25", ":", "%3A")

// KeyPrefix returns the idempotency key without its last part: notification:{run}:{kind}:, to which a
// recipient's id is added. {run} is the run's id, or the SHA-256 of the producer's own key in hex. A
// colon or a percent sign within run or kind is written as %3A or %25.
func (e *Event) KeyPrefix() string {
	run := ""
	if e.RunID != nil {
		run = escapeColon.Replace(*e.RunID)
	} else if e.IdempotencyKey != nil {
		run = hashedKey(*e.IdempotencyKey)
	}
	return notificationKeys + run + ":" + escapeColon.Replace(e.Kind) + ":"
}

// hashedKey returns a caller's own key as it is stored: its SHA-256 in hex.
func hashedKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// ContentHash returns a digest of all that a recipient is told. Two events with one key and two
// digests are a conflict.
func (e *Event) ContentHash() [sha256.Size]byte {
	c := newContent()
	data := string(e.Data)
	c.text(&e.Category)
	c.text(e.ActorID)
	c.text(&e.Title)
	c.text(e.Body)
	c.text(e.URL)
	c.text(&data)
	if e.OccurredAt != nil {
		c.instant(e.OccurredAt)
	}
	return c.hash()
}

// DispatchStatus is what became of an event for one recipient.
type DispatchStatus string

// The statuses.
const (
	// Created is a notification written by this call.
	Created DispatchStatus = "CREATED"
	// Duplicate is an event that the recipient had before.
	Duplicate DispatchStatus = "DUPLICATE"
	// Conflict is a key that was used before for other content.
	Conflict DispatchStatus = "CONFLICT"
	// Muted is a recipient who has switched the category off in the app.
	Muted DispatchStatus = "MUTED"
)

// DispatchResult is what became of an event for one recipient.
type DispatchResult struct {
	Recipient string
	Status    DispatchStatus
	// Position is the notification's place in the recipient's feed; zero where muted.
	Position Cursor
}

// NotificationID returns the opaque id of the stored notification, nil where there is none.
func (r *DispatchResult) NotificationID() *string {
	if r.Status == Muted {
		return nil
	}
	id := NotificationID(r.Recipient, r.Position)
	return &id
}

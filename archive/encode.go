package archive

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"belfry/inbox"
)

// Encoder writes records as lines.
type Encoder struct {
	json *json.Encoder
}

// NewEncoder returns an encoder that writes each record by one call of w.
func NewEncoder(w io.Writer) *Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Encoder{e}
}

// Encode writes one record.
func (e *Encoder) Encode(record inbox.Record) error {
	switch r := record.(type) {
	case *inbox.AccountRecord:
		return e.json.Encode(newAccountLine(r))
	case *inbox.SettingsRecord:
		return e.json.Encode(newSettingsLine(r))
	case *inbox.SeenRecord:
		return e.json.Encode(seenLine{"seen", r.UserID, r.Through.String(), r.Horizon.String()})
	case *inbox.DeviceRecord:
		return e.json.Encode(newDeviceLine(r))
	case *inbox.NotificationRecord:
		return e.json.Encode(newNotificationLine(r))
	case *inbox.ActivityRecord:
		return e.json.Encode(newActivityLine(r))
	case *inbox.ItemRecord:
		return e.json.Encode(newItemLine(r))
	case *inbox.ClaimRecord:
		return e.json.Encode(newClaimLine(r))
	case *inbox.DeliveryRecord:
		return e.json.Encode(newDeliveryLine(r))
	}
	return fmt.Errorf("no line for a %T", record)
}

// instant is a time as the API writes it.
type instant time.Time

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	return append(inbox.AppendTime([]byte{'"'}, time.Time(t)), '"'), nil
}

func optionalInstant(t *time.Time) *instant { return (*instant)(t) }

type notificationLine struct {
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	UserID     string          `json:"userId"`
	Kind       string          `json:"kind"`
	Category   string          `json:"category"`
	Actor      *string         `json:"actor,omitempty"`
	Title      string          `json:"title"`
	Body       *string         `json:"body,omitempty"`
	URL        *string         `json:"url,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	CreatedAt  instant         `json:"createdAt"`
	ReadAt     *instant        `json:"readAt,omitempty"`
	ArchivedAt *instant        `json:"archivedAt,omitempty"`
	Claim      *claimMembers   `json:"claim,omitempty"`
}

func newNotificationLine(n *inbox.NotificationRecord) notificationLine {
	return notificationLine{
		"notification", inbox.NotificationID(n.UserID, n.Position), n.UserID, n.Event.Kind, n.Event.Category,
		n.Event.ActorID, n.Event.Title, n.Event.Body, n.Event.URL, n.Event.Data, instant(n.Position.CreatedAt),
		optionalInstant(n.ReadAt), optionalInstant(n.ArchivedAt), newClaimMembers(n.Claim),
	}
}

type activityLine struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	UserID    string          `json:"userId"`
	Verb      string          `json:"verb"`
	Object    *string         `json:"object,omitempty"`
	URL       *string         `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	CreatedAt instant         `json:"createdAt"`
	ExpiresAt *instant        `json:"expiresAt,omitempty"`
	Claim     *claimMembers   `json:"claim,omitempty"`
}

func newActivityLine(a *inbox.ActivityRecord) activityLine {
	id := inbox.NodeID{Kind: inbox.KindActivity, UserID: a.UserID, Position: a.Position}
	return activityLine{
		"activity", id.String(), a.UserID, a.Verb, a.Object, a.URL, a.Data, instant(a.Position.CreatedAt),
		optionalInstant(a.ExpiresAt), newClaimMembers(a.Claim),
	}
}

type itemLine struct {
	Type      string          `json:"type"`
	UserID    string          `json:"userId"`
	ItemID    string          `json:"itemId"`
	Title     string          `json:"title"`
	URL       *string         `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Tags      []string        `json:"tags"`
	CreatedAt *instant        `json:"createdAt"`
}

func newItemLine(i *inbox.ItemRecord) itemLine {
	return itemLine{"item", i.UserID, i.ItemID, i.Title, i.URL, i.Data, i.Tags, optionalInstant(i.CreatedAt)}
}

// claimMembers are what a claim has everywhere.
type claimMembers struct {
	Key         string  `json:"key"`
	ContentHash string  `json:"contentHash"`
	CreatedAt   instant `json:"createdAt"`
}

func newClaimMembers(c *inbox.Claim) *claimMembers {
	if c == nil {
		return nil
	}
	return &claimMembers{c.Key, hex.EncodeToString(c.ContentHash[:]), instant(c.CreatedAt)}
}

type claimLine struct {
	Type      string `json:"type"`
	UserID    string `json:"userId"`
	SubjectID string `json:"subjectId"`
	claimMembers
}

func newClaimLine(r *inbox.ClaimRecord) claimLine {
	return claimLine{"claim", r.UserID, r.SubjectID(), *newClaimMembers(&r.Claim)}
}

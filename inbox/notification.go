package inbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Notification is an event as told to one user.
type Notification struct {
	UserID    string
	CreatedAt time.Time
	ID        UUID
	Kind      string
	Category  string
	// Actor is nil where nobody is named. Its name and picture are there only where they were asked for.
	Actor      *Actor
	Title      string
	Body       *string
	URL        *string
	Data       json.RawMessage
	ReadAt     *time.Time
	ArchivedAt *time.Time
	// PushDeliveries is nil where they were not asked for.
	PushDeliveries []*PushDelivery
}

// Cursor returns the notification's place in every list that holds it.
func (n *Notification) Cursor() Cursor { return Cursor{n.CreatedAt, n.ID} }

// NodeID returns the opaque id.
func (n *Notification) NodeID() string { return NotificationID(n.UserID, n.Cursor()) }

// AppendNodeID appends the opaque id.
func (n *Notification) AppendNodeID(b []byte) []byte {
	return NodeID{Kind: KindNotification, UserID: n.UserID, Position: n.Cursor()}.Append(b)
}

// NotificationID returns the opaque id of the user's notification at a place.
func NotificationID(userID string, at Cursor) string {
	return NodeID{Kind: KindNotification, UserID: userID, Position: at}.String()
}

// NotificationEdge is a notification in a list.
type NotificationEdge struct{ Edge[*Notification] }

// Status tells read from unread.
type Status string

// The statuses.
const (
	StatusUnread Status = "UNREAD"
	StatusRead   Status = "READ"
)

// Filter says which notifications a list holds. The zero Filter holds all of them, the archived
// ones too.
type Filter struct {
	// Status is nil for both.
	Status *Status
	// Categories is nil for all; an empty list matches nothing.
	Categories []string
	// Archived is nil for both.
	Archived *bool
}

// NewFilter checks a filter's arguments. Errors are BadUserInput.
func NewFilter(status *Status, categories []string, archived *bool) (Filter, error) {
	if len(categories) > MaxCategories {
		return Filter{}, BadArgument("filter", "filter.categories has more than %d elements", MaxCategories)
	}
	for _, c := range categories {
		// Postgres takes no NUL in a text; no category holds one either.
		if hasControl(c) {
			return Filter{}, BadArgument("filter", "filter.categories holds a control character")
		}
	}
	return Filter{Status: status, Categories: categories, Archived: archived}, nil
}

// MaxCategories is the most categories that a filter or a mark-all may name.
const MaxCategories = 100

// Badge is a user's counters.
type Badge struct {
	// Unread counts what is unread and not archived, up to MaxCount.
	Unread int32
	// Unseen counts what of that came since an inbox was last opened.
	Unseen int32
	// CountedAt is when they were read: of two badges the later one is right.
	CountedAt time.Time
}

// Shows reports whether two badges show the same, whenever they were read.
func (b Badge) Shows(other Badge) bool { return b.Unread == other.Unread && b.Unseen == other.Unseen }

// MaxCount is where the counters stop: it means "or more".
const MaxCount = 9999

// CheckCategories returns what is wrong with the categories of a mark-all, nil where nothing is.
func CheckCategories(categories []string) []*UserError {
	var c checker
	if len(categories) > MaxCategories {
		c.tooLarge(fmt.Sprintf("must have at most %d elements", MaxCategories), "input", "categories")
		return c.errors
	}
	for i, category := range categories {
		c.line(category, 0, maxCategory, "input", "categories", strconv.Itoa(i))
	}
	return c.errors
}

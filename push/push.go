// Package push brings notifications to devices. A worker claims what is queued, hands it to the sender of
// each provider and writes down what became of it; a reconciler asks later what became of what was sent. A
// message is sent at most once: a duplicate hurts more than a loss, which the feed makes good.
package push

import (
	"context"
	"encoding/json"
	"time"
)

// Message is one push to one device.
type Message struct {
	// ID is the delivery's own id, unique among all; providers that can collapse repeats get it.
	ID string
	// Token is the device's: an Expo push token, or a Web Push subscription as JSON.
	Token string
	// Platform is ios, android, web or "" where it is not known.
	Platform string
	Title    string
	Body     string
	// URL is where a tap leads; "" for nowhere.
	URL string
	// Data is what the producer sent, JSON or nil.
	Data json.RawMessage
	// NotificationID is the opaque id of the notification, for the client to mark it read.
	NotificationID string
	Kind, Category string
	// Badge is the user's unread count at the moment of sending.
	Badge int32
}

// Verdict is what a send has led to.
type Verdict int

// The verdicts.
const (
	// Sent is a message that the provider has taken.
	Sent Verdict = iota
	// Delivered is one of a provider that gives no receipts and has taken the message.
	Delivered
	// Failed is one that will not be sent, or of which nobody knows whether it was.
	Failed
	// Requeued is one that the provider has certainly not taken, and that may be sent again.
	Requeued
)

// Result is what became of one message.
type Result struct {
	Verdict Verdict
	// Ticket is by what the provider knows the message; with Sent, and "" where it gave none.
	Ticket string
	// Error is the provider's code as it gave it, or a code of Belfry's in lower case, such as timeout;
	// with Failed and Requeued.
	Error string
	// Detail is more of what the provider said, at most 1,000 bytes, for the ledger.
	Detail string
	// DisableDevice says that the token is good no more; Error says why.
	DisableDevice bool
	// RetryAfter is how long to wait; with Requeued.
	RetryAfter time.Duration
}

// Receipt is what the provider says later of a message that it took.
type Receipt struct {
	// Delivered says that the provider has handed it on.
	Delivered bool
	// Error, Detail and DisableDevice are as in a Result.
	Error, Detail string
	DisableDevice bool
}

// Sender sends by one provider.
type Sender interface {
	// Send sends each of at most 100 messages at most once and returns one result for each, in order. It never fails as a
	// whole: what goes wrong with a request is in the results of its messages. When ctx ends it returns
	// soon; what was under way then has failed, since nobody knows.
	Send(ctx context.Context, messages []Message) []Result
	// Receipts asks what became of messages, by their tickets, at most 300. Those of which the provider
	// says nothing are left out. Nil for a provider that gives none.
	Receipts(ctx context.Context, tickets []string) (map[string]Receipt, error)
}

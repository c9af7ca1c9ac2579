package inbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// A notification of a history has the claim of a dispatch of the same event, and the same place whenever it is
// imported.
func TestPlaceIsRepeatable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	event := func(at *time.Time) inbox.Event {
		return inbox.Event{RunID: new("a:b"), Kind: "k", Category: "c", Title: "t", OccurredAt: at}
	}
	for name, at := range map[string]time.Time{
		"long ago": time.Unix(0, 0).UTC(), "a moment ago": now.Add(-time.Microsecond), "to come": now.Add(time.Hour),
	} {
		first := inbox.NotificationRecord{UserID: "u", Event: event(&at)}
		first.Place(now)
		second := inbox.NotificationRecord{UserID: "u", Event: event(&at), ReadAt: &now}
		second.Place(now.Add(24 * time.Hour))
		if first.Position.CreatedAt != at || second.Position.CreatedAt != at {
			t.Errorf("%s: got %v and %v, want %v", name, first.Position, second.Position, at)
		}
		if same := first.Position == second.Position; same != at.Before(now) {
			t.Errorf("%s: the places are the same: %v", name, same)
		}
		dispatched := event(&at)
		want := inbox.Claim{Key: dispatched.KeyPrefix() + "u", ContentHash: dispatched.ContentHash(), CreatedAt: now}
		if diff := cmp.Diff(want, *first.Claim); diff != "" {
			t.Errorf("%s: claim (-dispatch +import):\n%s", name, diff)
		}
		if id := first.Position.ID; id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Errorf("%s: %s is no UUIDv7", name, id)
		}
		// Unseen is what has an id of or after the time of a mark: nothing that is imported may be of later.
		later := inbox.UUID{6: 0x70, 8: 0x80}
		ms := now.UnixMilli() + 1
		for i := range 6 {
			later[i] = byte(ms >> (8 * (5 - i)))
		}
		if string(first.Position.ID[:]) >= string(later[:]) {
			t.Errorf("%s: %s has arrived after now", name, first.Position.ID)
		}
	}
}

func TestHasContent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	n := inbox.NotificationRecord{UserID: "u", Event: inbox.Event{Kind: "k", Category: "c", Title: "t", OccurredAt: &now}}
	n.Place(now)
	a := inbox.ActivityRecord{ActivityInput: inbox.ActivityInput{UserID: "u", Verb: "v", OccurredAt: &now}}
	a.Place(now)
	other, timeless := n.Event, n.Event
	other.Title, timeless.OccurredAt = "other", nil
	deed := a.ActivityInput
	deed.OccurredAt = nil
	restored := n
	restored.IsRestored = true
	for _, tt := range []struct {
		name      string
		has       func([]byte) bool
		hash      [32]byte
		isContent bool
	}{
		{"itself", n.HasContent, n.Claim.ContentHash, true},
		{"dispatched without a time", n.HasContent, timeless.ContentHash(), true},
		{"in other words", n.HasContent, other.ContentHash(), false},
		{"exported", restored.HasContent, timeless.ContentHash(), false},
		{"an activity", a.HasContent, a.Claim.ContentHash, true},
		{"an activity without a time", a.HasContent, deed.ContentHash(), true},
		{"of another kind", a.HasContent, n.Claim.ContentHash, false},
	} {
		if got := tt.has(tt.hash[:]); got != tt.isContent {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.isContent)
		}
	}
}

func TestDeliveryThatWaitedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for status, want := range map[inbox.PushStatus]inbox.PushStatus{
		inbox.PushQueued: inbox.PushFailed, inbox.PushSending: inbox.PushFailed, inbox.PushSent: inbox.PushSent, inbox.PushDelivered: inbox.PushDelivered,
		inbox.PushUnknown: inbox.PushUnknown, inbox.PushSuppressed: inbox.PushSuppressed,
	} {
		r := inbox.DeliveryRecord{
			UserID: "u", ID: inbox.MaxUUID, Provider: inbox.ProviderExpo, Status: status, CreatedAt: now, SentAt: &now,
		}
		if status != inbox.PushSent && status != inbox.PushQueued && status != inbox.PushSending {
			r.SettledAt = &now
		}
		if status == inbox.PushSuppressed {
			r.Error = new("opted out")
		}
		if errs := r.Check(now); len(errs) > 0 {
			t.Errorf("%s: %s: %s", status, errs[0].Field, errs[0].Message)
		}
		r.Settle(now)
		if r.Status != want || r.Check(now) != nil {
			t.Errorf("%s: got %s, want %s", status, r.Status, want)
		}
	}
}

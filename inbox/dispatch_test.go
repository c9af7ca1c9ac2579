package inbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

func ptr[T any](v T) *T { return &v }

func TestKeyPrefix(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		event inbox.Event
		want  string
	}{
		{"run", inbox.Event{RunID: ptr("gh-1"), Kind: "issue.opened"}, "notification:gh-1:issue.opened:"},
		// printf key | sha256sum
		{"own key", inbox.Event{IdempotencyKey: ptr("key"), Kind: "comment"},
			"notification:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683:comment:"},
		{"separators", inbox.Event{RunID: ptr("a:b%"), Kind: "c:d"}, "notification:a%3Ab%25:c%3Ad:"},
	}
	for _, tt := range tests {
		if got := tt.event.KeyPrefix(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	one := inbox.Event{RunID: ptr("a:b"), Kind: "c"}
	two := inbox.Event{RunID: ptr("a"), Kind: "b:c"}
	if one.KeyPrefix() == two.KeyPrefix() {
		t.Errorf("two events share the key %s", one.KeyPrefix())
	}
}

// Every part of what a recipient is told changes the hash; what tells events apart, or whom they are
// for, does not.
func TestContentHash(t *testing.T) {
	t.Parallel()
	base := func() inbox.Event {
		return inbox.Event{RunID: ptr("r"), Kind: "k", Category: "c", Title: "t", Recipients: []string{"ada"}}
	}
	changes := map[string]func(*inbox.Event){
		"category":    func(e *inbox.Event) { e.Category = "d" },
		"actor":       func(e *inbox.Event) { e.ActorID = ptr("x") },
		"empty actor": func(e *inbox.Event) { e.ActorID = ptr("") },
		"title":       func(e *inbox.Event) { e.Title = "u" },
		"body":        func(e *inbox.Event) { e.Body = ptr("x") },
		"empty body":  func(e *inbox.Event) { e.Body = ptr("") },
		"url":         func(e *inbox.Event) { e.URL = ptr("x") },
		"data":        func(e *inbox.Event) { e.Data = []byte("1") },
		"occurredAt":  func(e *inbox.Event) { e.OccurredAt = ptr(time.UnixMicro(1)) },
		"1970":        func(e *inbox.Event) { e.OccurredAt = ptr(time.UnixMicro(0)) },
		"shifted":     func(e *inbox.Event) { e.Category, e.Title = "ct", "" },
	}
	plain := base()
	seen := map[[32]byte]string{plain.ContentHash(): "plain"}
	for name, change := range changes {
		e := base()
		change(&e)
		if other, ok := seen[e.ContentHash()]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[e.ContentHash()] = name
	}
	same := base()
	same.RunID, same.IdempotencyKey, same.Recipients = nil, ptr("k"), []string{"bela"}
	if same.ContentHash() != plain.ContentHash() {
		t.Error("the key or the recipients change the hash")
	}
}

func TestDistinctRecipients(t *testing.T) {
	t.Parallel()
	e := inbox.Event{Recipients: []string{"b", "a", "b", "c", "a"}}
	if diff := cmp.Diff([]string{"b", "a", "c"}, e.DistinctRecipients()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOccurredAtMayBeADayAhead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for ahead, isGood := range map[time.Duration]bool{0: true, 24 * time.Hour: true, 24*time.Hour + time.Microsecond: false} {
		e := inbox.Event{
			RunID: ptr("r"), Kind: "k", Category: "c", Title: "t", Recipients: []string{"ada"}, OccurredAt: ptr(now.Add(ahead)),
		}
		if got := len(e.Check(now)) == 0; got != isGood {
			t.Errorf("%s ahead: good: got %t, want %t", ahead, got, isGood)
		}
	}
}

// An answer stays small whatever is wrong with an input.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	e := inbox.Event{RunID: ptr("r"), Kind: "k", Category: "c", Title: "t"}
	for i := range 10_000 {
		e.Recipients = append(e.Recipients, strings.Repeat("\x00", i%100+1))
	}
	if got := len(e.Check(time.Now())); got != 20 {
		t.Errorf("got %d errors, want 20", got)
	}
}

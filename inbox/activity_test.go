package inbox_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

func TestActivityInput(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 20_000)
	tests := []struct {
		name   string
		change func(*inbox.ActivityInput)
		want   []string
	}{
		{"plain", func(*inbox.ActivityInput) {}, nil},
		{"largest", func(in *inbox.ActivityInput) {
			in.Verb, in.Object, in.IdempotencyKey = long[:128], new(long[:1024]), new(long[:1024])
			in.OccurredAt, in.ExpiresAt = new(time.Unix(0, 0)), new(time.Unix(0, 1000))
		}, nil},
		{"control character in user", func(in *inbox.ActivityInput) { in.UserID = "a\x00" }, []string{"INVALID input.userId"}},
		{"blank verb", func(in *inbox.ActivityInput) { in.Verb = " " }, []string{"INVALID input.verb"}},
		{"long verb", func(in *inbox.ActivityInput) { in.Verb = long[:129] }, []string{"TOO_LARGE input.verb"}},
		{"two lines of object", func(in *inbox.ActivityInput) { in.Object = new("a\nb") }, []string{"INVALID input.object"}},
		{"long object", func(in *inbox.ActivityInput) { in.Object = new(long[:1025]) }, []string{"TOO_LARGE input.object"}},
		{"relative URL", func(in *inbox.ActivityInput) { in.URL = new("/a") }, []string{"INVALID input.url"}},
		{"much data", func(in *inbox.ActivityInput) { in.Data = []byte(long[:4097]) }, []string{"TOO_LARGE input.data"}},
		{"in two days", func(in *inbox.ActivityInput) { in.OccurredAt = new(now.AddDate(0, 0, 2)) }, []string{"INVALID input.occurredAt"}},
		{"expires now", func(in *inbox.ActivityInput) { in.ExpiresAt = new(now) }, []string{"INVALID input.expiresAt"}},
		{"expires as it occurs", func(in *inbox.ActivityInput) {
			in.OccurredAt, in.ExpiresAt = new(now.Add(time.Hour)), new(now.Add(time.Hour))
		},
			[]string{"INVALID input.expiresAt"}},
		{"has expired since", func(in *inbox.ActivityInput) {
			in.OccurredAt, in.ExpiresAt = new(now.Add(-2*time.Hour)), new(now.Add(-time.Hour))
		}, nil},
		{"empty key", func(in *inbox.ActivityInput) { in.IdempotencyKey = new("") }, []string{"INVALID input.idempotencyKey"}},
		{"long key", func(in *inbox.ActivityInput) { in.IdempotencyKey = new(long[:1025]) }, []string{"TOO_LARGE input.idempotencyKey"}},
	}
	for _, tt := range tests {
		in := &inbox.ActivityInput{UserID: "ada", Verb: "opened"}
		tt.change(in)
		if diff := cmp.Diff(tt.want, faults(in.Check(now))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestActivityKey(t *testing.T) {
	t.Parallel()
	if got := (&inbox.ActivityInput{}).Key(); got != nil {
		t.Errorf("without one: got %s, want nil", *got)
	}
	in := &inbox.ActivityInput{IdempotencyKey: new("")}
	if got, want := *in.Key(), "activity:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// All that a client sees of an activity tells two apart, and nothing else does.
func TestActivityContentHash(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1764524087517975)
	changes := map[string]func(*inbox.ActivityInput){
		"plain":              func(*inbox.ActivityInput) {},
		"verb":               func(in *inbox.ActivityInput) { in.Verb = "other" },
		"object":             func(in *inbox.ActivityInput) { in.Object = new("x") },
		"empty object":       func(in *inbox.ActivityInput) { in.Object = new("") },
		"url":                func(in *inbox.ActivityInput) { in.URL = new("x") },
		"object and url":     func(in *inbox.ActivityInput) { in.Object, in.URL = new("x"), new("x") },
		"data":               func(in *inbox.ActivityInput) { in.Data = json.RawMessage(`{}`) },
		"occurred":           func(in *inbox.ActivityInput) { in.OccurredAt = &at },
		"expires":            func(in *inbox.ActivityInput) { in.ExpiresAt = &at },
		"occurs and expires": func(in *inbox.ActivityInput) { in.OccurredAt, in.ExpiresAt = &at, &at },
	}
	seen := map[[32]byte]string{}
	for name, change := range changes {
		in := &inbox.ActivityInput{UserID: "ada", Verb: "opened", IdempotencyKey: new("key")}
		change(in)
		if other, ok := seen[in.ContentHash()]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[in.ContentHash()] = name
		in.UserID, in.IdempotencyKey = "bela", nil
		if got := seen[in.ContentHash()]; got != name {
			t.Errorf("%s: with another user and key the hash is another's", name)
		}
	}
}

// Hashes are stored: another way of making them would turn every event that is sent again into a conflict.
func TestContentHashesAreKept(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1764524087517975)
	e := &inbox.Event{Category: "ci", Title: "Title", Body: new("Body"), Data: json.RawMessage(`{"a":1}`), OccurredAt: &at}
	hash := e.ContentHash()
	if got, want := hex.EncodeToString(hash[:]), "9b005684bedd8c6526e18ac1d8750ab56cf3925a1d37ebafe91e7417632e90b3"; got != want {
		t.Errorf("event: got %s, want %s", got, want)
	}
	in := &inbox.ActivityInput{Verb: "opened", Object: new("issue"), OccurredAt: &at}
	hash = in.ContentHash()
	if got, want := hex.EncodeToString(hash[:]), "06a68976d06dbe3bcada508b2c658505ead1a96ad270e5691c1a8281fffa7037"; got != want {
		t.Errorf("activity: got %s, want %s", got, want)
	}
}

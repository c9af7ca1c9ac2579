package inbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// faults are what is wrong, as "CODE path".
func faults(errs []*inbox.UserError) []string {
	var list []string
	for _, e := range errs {
		list = append(list, string(e.Code)+" "+strings.Join(e.Field, "."))
	}
	return list
}

func TestItemUUID(t *testing.T) {
	t.Parallel()
	// printf '' | sha256sum, and printf bookmark-1 | sha256sum, with version 8 and RFC 9562's variant.
	for itemID, want := range map[string]string{
		"":           "e3b0c442-98fc-8c14-9afb-f4c8996fb924",
		"bookmark-1": "6b8c68f1-9108-83cb-a35f-21ff91aab50e",
	} {
		if got := inbox.ItemUUID(itemID).String(); got != want {
			t.Errorf("%q: got %s, want %s", itemID, got, want)
		}
	}
}

func TestItemInput(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 20_000)
	many := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		return list
	}
	tests := []struct {
		name   string
		change func(*inbox.ItemInput)
		want   []string
	}{
		{"plain", func(*inbox.ItemInput) {}, nil},
		{"largest", func(in *inbox.ItemInput) {
			in.ItemID, in.Title, in.Tags = long[:128], long[:1024], append(many(50), "0", "49")
			in.Tags[3] = strings.Repeat("\U0001F600", 64)
		}, nil},
		{"empty user", func(in *inbox.ItemInput) { in.UserID = "" }, []string{"INVALID input.userId"}},
		{"empty item", func(in *inbox.ItemInput) { in.ItemID = "" }, []string{"INVALID input.itemId"}},
		{"long item", func(in *inbox.ItemInput) { in.ItemID = long[:129] }, []string{"TOO_LARGE input.itemId"}},
		{"control character in item", func(in *inbox.ItemInput) { in.ItemID = "a\x00" }, []string{"INVALID input.itemId"}},
		{"two lines of title", func(in *inbox.ItemInput) { in.Title = "a\nb" }, []string{"INVALID input.title"}},
		{"long title", func(in *inbox.ItemInput) { in.Title = long[:1025] }, []string{"TOO_LARGE input.title"}},
		{"script", func(in *inbox.ItemInput) { in.URL = new("javascript:x") }, []string{"INVALID input.url"}},
		{"much data", func(in *inbox.ItemInput) { in.Data = []byte(long[:4097]) }, []string{"TOO_LARGE input.data"}},
		{"before 1970", func(in *inbox.ItemInput) { in.CreatedAt = new(time.Unix(-1, 0)) }, []string{"INVALID input.createdAt"}},
		{"no tags", func(in *inbox.ItemInput) { in.Tags = nil }, []string{"INVALID input.tags"}},
		{"51 tags", func(in *inbox.ItemInput) { in.Tags = many(51) }, []string{"TOO_LARGE input.tags"}},
		{"bad tags", func(in *inbox.ItemInput) { in.Tags = []string{"a", "", long[:65], "b\tc", "\xff", long[:64]} },
			[]string{"INVALID input.tags.1", "TOO_LARGE input.tags.2", "INVALID input.tags.3", "INVALID input.tags.4"}},
	}
	for _, tt := range tests {
		in := &inbox.ItemInput{UserID: "ada", ItemID: "one", Title: "One", Tags: []string{"a"}}
		tt.change(in)
		if diff := cmp.Diff(tt.want, faults(in.Check(now))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	in := &inbox.ItemInput{Tags: []string{"b", "a", "b", "A"}}
	if diff := cmp.Diff([]string{"b", "a", "A"}, in.DistinctTags()); diff != "" {
		t.Errorf("distinct tags (-want +got):\n%s", diff)
	}
}

func TestCheckTag(t *testing.T) {
	t.Parallel()
	for tag, isGood := range map[string]bool{
		"a": true, strings.Repeat("é", 64): true, "a b": true, "": false, strings.Repeat("é", 65): false, "a\nb": false, "\xff": false,
	} {
		err := inbox.CheckTag(tag)
		if (err == nil) != isGood || err != nil && inbox.ErrorCode(err) != inbox.BadUserInput {
			t.Errorf("%q: got %v, want good %t", tag, err, isGood)
		}
	}
}

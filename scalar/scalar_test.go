package scalar_test

import (
	"bytes"
	"testing"
	"time"

	"belfry/scalar"
)

func TestDateTime(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"2026-11-30T17:34:47.517975Z", `"2026-11-30T17:34:47.517975Z"`},
		{"2026-11-30T17:34:47Z", `"2026-11-30T17:34:47.000000Z"`},
		{"2026-11-30T17:34:47.5Z", `"2026-11-30T17:34:47.500000Z"`},
		{"2026-12-01T02:34:47.517975+09:00", `"2026-11-30T17:34:47.517975Z"`},
		{"2026-11-30T17:34:47.517975999Z", `"2026-11-30T17:34:47.517975Z"`},
		{"0001-01-01T00:00:00Z", `"0001-01-01T00:00:00.000000Z"`},
	}
	for _, tt := range tests {
		v, err := scalar.UnmarshalDateTime(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		var buf bytes.Buffer
		scalar.MarshalDateTime(v).MarshalGQL(&buf)
		if got := buf.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
	}
	for _, bad := range []any{"", "2026-11-30", "2026-11-30T17:34:47", "2026-02-30T00:00:00Z", "now", 1764524087, nil, true} {
		if v, err := scalar.UnmarshalDateTime(bad); err == nil {
			t.Errorf("%v: taken as %v", bad, v)
		}
	}
}

// The server's own zone shows nowhere (case T-60).
func TestT60DateTimeIsInUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 2, 34, 47, 517975000, time.FixedZone("Asia/Tokyo", 9*3600))
	var buf bytes.Buffer
	scalar.MarshalDateTime(at).MarshalGQL(&buf)
	if got, want := buf.String(), `"2026-11-30T17:34:47.517975Z"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestURLTakesStringsAlone(t *testing.T) {
	t.Parallel()
	if _, err := scalar.UnmarshalURL(5); err == nil {
		t.Error("a number is taken")
	}
	if got, err := scalar.UnmarshalURL("javascript:x"); err != nil || got != "javascript:x" {
		t.Errorf("the rule belongs to package inbox: got %q, %v", got, err)
	}
}

func TestJSONIsWrittenAlikeForEveryOrderOfMembers(t *testing.T) {
	t.Parallel()
	got, err := scalar.UnmarshalJSON(map[string]any{"b": "<&>", "a": []any{nil, true}})
	if want := `{"a":[null,true],"b":"<&>"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if _, err := scalar.UnmarshalJSON(func() {}); err == nil {
		t.Error("a function is taken")
	}
}

package resolvers_test

import (
	"encoding/base64"
	"strings"
	"testing"
)

// A cursor that is not exactly one of this server's is refused by name, never guessed at.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(2)
	encode := base64.RawURLEncoding.EncodeToString
	const at, id = "2026-11-30T17:34:47.517975Z", "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	bad := map[string]string{
		"garbage":           "garbage!",
		"padding":           base64.URLEncoding.EncodeToString([]byte(at+"|"+id)) + "=",
		"standard alphabet": strings.Repeat("+/", 40),
		"other order":       encode([]byte(id + "|" + at)),
		"bar within":        encode([]byte(at + "|x|" + id)),
		"no bar":            encode([]byte(at + id)),
		"seven digits":      encode([]byte("2026-11-30T17:34:47.5179751Z|" + id)),
		"three digits":      encode([]byte("2026-11-30T17:34:47.517Z|" + id)),
		"offset":            encode([]byte("2026-11-30T17:34:47.517975+00:00|" + id)),
		"capitals":          encode([]byte(at + "|" + strings.ToUpper(id))),
		"no id":             encode([]byte(at + "|")),
		"31st of February":  encode([]byte("2026-02-31T17:34:47.517975Z|" + id)),
		"line break":        encode([]byte(at + "|" + id))[:20] + "\n" + encode([]byte(at + "|" + id))[20:],
		"NUL":               "\x00",
		"a node's id":       viewerID(a, "ada"),
		"100 KB":            strings.Repeat("A", 100_000),
	}
	for name, cursor := range bad {
		for _, argument := range []string{"after", "before"} {
			got := a.ask(as("ada"), pageQuery, map[string]any{argument: cursor})
			if len(got.Errors) != 1 || got.Errors[0].Extensions.Code != "BAD_USER_INPUT" || got.Errors[0].Extensions.Argument != argument ||
				len(got.Errors[0].Message) > 200 {
				t.Errorf("%s as %s: got %s %+v, want BAD_USER_INPUT naming it", name, argument, got.Data, got.Errors)
			}
		}
	}
	for _, absent := range []any{"", nil} {
		if got := a.page(map[string]any{"after": absent, "before": absent}).titles(); got != "2 1" {
			t.Errorf("%v counts as absent: got %q", absent, got)
		}
	}
	// Good cursors of rows that never were: positions all the same.
	for cursor, want := range map[string]string{
		encode([]byte("0000-01-01T00:00:00.000000Z|" + id)): "", encode([]byte("9999-12-31T23:59:59.999999Z|" + id)): "2 1",
	} {
		if got := a.page(map[string]any{"after": cursor}); got.titles() != want || got.PageInfo.HasPreviousPage != (want == "") {
			t.Errorf("after %s: got %q %+v, want %q", cursor, got.titles(), got.PageInfo, want)
		}
	}
}

func TestT74TheClientChoosesThePageSize(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fill(101)
	for _, size := range []int{1, 37, 100} {
		if got := a.page(map[string]any{"first": size}); len(got.Edges) != size || !got.PageInfo.HasNextPage {
			t.Errorf("first %d: got %d edges", size, len(got.Edges))
		}
	}
}

package inbox_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"belfry/inbox"
)

func mustUUID(t testing.TB, s string) inbox.UUID {
	t.Helper()
	u, ok := inbox.ParseUUID(s)
	if !ok {
		t.Fatalf("not a UUID: %s", s)
	}
	return u
}

func TestCursorHasTheDocumentedForm(t *testing.T) {
	t.Parallel()
	const id = "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
	tests := []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 30, 17, 34, 47, 517975000, time.UTC), "2026-11-30T17:34:47.517975Z|" + id},
		{time.Date(2026, 11, 30, 17, 34, 47, 0, time.UTC), "2026-11-30T17:34:47.000000Z|" + id},
		// Tokyo is nine hours ahead; a cursor is in UTC whatever the server's zone.
		{time.Date(2026, 12, 1, 2, 34, 47, 500000000, time.FixedZone("JST", 9*3600)), "2026-11-30T17:34:47.500000Z|" + id},
	}
	for _, tt := range tests {
		c := inbox.Cursor{CreatedAt: tt.at, ID: mustUUID(t, id)}
		raw, err := base64.RawURLEncoding.DecodeString(c.String())
		if err != nil || string(raw) != tt.want {
			t.Errorf("got %q, %v; want %q", raw, err, tt.want)
		}
		back, ok := inbox.ParseCursor(c.String())
		if !ok || !back.CreatedAt.Equal(tt.at) || back.ID != c.ID {
			t.Errorf("parsed: got %+v, %t; want %+v", back, ok, c)
		}
	}
}

func TestNeighboursOfACursor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 17, 34, 47, 517975000, time.UTC)
	for _, id := range []string{
		"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a00", "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3fffff",
	} {
		c := inbox.Cursor{CreatedAt: at, ID: mustUUID(t, id)}
		below, above := c.JustBelow(), c.JustAbove()
		if below.Compare(c) >= 0 || above.Compare(c) <= 0 || c.Compare(c) != 0 {
			t.Errorf("%s: not between its neighbours %v and %v", id, below, above)
		}
		if below.JustAbove() != c || above.JustBelow() != c {
			t.Errorf("%s: the neighbours' neighbours are not it", id)
		}
	}
}

// FuzzParseCursor holds that a cursor is taken only in the form that String writes: clients compare
// cursors as strings.
func FuzzParseCursor(f *testing.F) {
	f.Add("MjAyNi0xMS0zMFQxNzozNDo0Ny41MTc5NzVafDAxOTNhMWIyLWMzZDQtN2U1Zi04YTliLTBjMWQyZTNmNGE1Yg")
	f.Add("")
	f.Add("MjAyNi0xMS0zMFQxNzozNDo0Ny41MTc5NzVafDAxOTNhMWIyLWMzZDQtN2U1Zi04YTliLTBjMWQyZTNmNGE1Yh")
	f.Add(strings.Repeat("A", 1<<20))
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := inbox.ParseCursor(s)
		if !ok {
			if c != (inbox.Cursor{}) {
				t.Errorf("a refused cursor left %+v", c)
			}
			return
		}
		if got := c.String(); got != s {
			t.Errorf("taken as %q, written as %q", s, got)
		}
		if c.CreatedAt.Nanosecond()%1000 != 0 || c.CreatedAt.Location() != time.UTC {
			t.Errorf("not UTC in whole microseconds: %v", c.CreatedAt)
		}
	})
}

// FuzzParseNodeID holds the same for ids, and that what is taken names a possible user.
func FuzzParseNodeID(f *testing.F) {
	at := inbox.Cursor{CreatedAt: time.UnixMicro(1764524087517975).UTC(), ID: inbox.MaxUUID}
	for _, n := range []inbox.NodeID{
		{Kind: inbox.KindUser, UserID: "ada"}, {Kind: inbox.KindAccount, UserID: "auth0|5f7c8ec7c33c6c004bbafe82"},
		{Kind: inbox.KindSettings, UserID: "ü"}, {Kind: inbox.KindNotification, UserID: "ada", Position: at},
		{Kind: inbox.KindNotification, UserID: strings.Repeat("x", inbox.MaxUserID), Position: at},
		{Kind: inbox.KindActivity, UserID: "ada", Position: at}, {Kind: inbox.KindItem, UserID: "ada", Position: at},
	} {
		f.Add(n.String())
	}
	f.Add("ntf_")
	f.Add("usr_AA")
	f.Add("xyz_YWRh")
	f.Fuzz(func(t *testing.T, s string) {
		n, ok := inbox.ParseNodeID(s)
		if !ok {
			return
		}
		if got := n.String(); got != s {
			t.Errorf("taken as %q, written as %q", s, got)
		}
		if !inbox.ValidUserID(n.UserID) {
			t.Errorf("taken with the user id %q", n.UserID)
		}
	})
}

func TestNodeIDsOfDifferentKindsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, n := range []interface{ NodeID() string }{
		&inbox.User{ID: "ada"}, &inbox.Account{UserID: "ada"}, &inbox.Settings{UserID: "ada"}, &inbox.Notification{UserID: "ada"}, &inbox.Device{UserID: "ada"},
		&inbox.Activity{UserID: "ada"}, &inbox.Item{UserID: "ada"},
	} {
		id := n.NodeID()
		if seen[id] {
			t.Errorf("%T: id %s is another's", n, id)
		}
		seen[id] = true
		if _, ok := inbox.ParseNodeID(id); !ok {
			t.Errorf("%T: id %s is not taken back", n, id)
		}
	}
}

package auth

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// A token that was accepted is accepted without another look until the minute is over, and never beyond its
// own end.
func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCache()
		key, other := [32]byte{1}, [32]byte{2}
		long := inbox.Caller{UserID: "ann", Scopes: []inbox.Scope{inbox.ScopeRead}, ExpiresAt: time.Now().Add(time.Hour)}
		short := inbox.Caller{UserID: "bob", ExpiresAt: time.Now().Add(10 * time.Second)}
		c.remember(key, long, time.Now())
		c.remember(other, short, time.Now())
		got, ok := c.caller(key, time.Now())
		if diff := cmp.Diff(long, got); diff != "" || !ok {
			t.Errorf("remembered: got %t (-want +got):\n%s", ok, diff)
		}
		for _, tt := range []struct {
			after       time.Duration
			long, short bool
		}{
			{10*time.Second - 1, true, true},
			{10 * time.Second, true, false},
			{time.Minute - 1, true, false},
			{time.Minute, false, false},
		} {
			now := time.Now().Add(tt.after)
			if _, ok := c.caller(key, now); ok != tt.long {
				t.Errorf("after %s: the long one is known: got %t, want %t", tt.after, ok, tt.long)
			}
			if _, ok := c.caller(other, now); ok != tt.short {
				t.Errorf("after %s: the short one is known: got %t, want %t", tt.after, ok, tt.short)
			}
		}
		if _, ok := c.caller([32]byte{3}, time.Now()); ok {
			t.Error("a token that was never verified is known")
		}
	})
}

// What differs from an accepted token by one character is verified on its own, and what was refused once is
// refused again.
func TestCacheAcceptsNothingElse(t *testing.T) {
	t.Parallel()
	v := must(Open(t.Context(), Config{Secret: testSecret}, slog.New(slog.DiscardHandler)))
	good := signed(t, jwt.SigningMethodHS256, testSecret, "", claims(nil))
	for range 2 {
		if _, err := v.Verify(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		last := strings.LastIndexByte(good, '.') + 1
		swapped := good[:last] + good[last+1:last+2] + good[last:last+1] + good[last+2:]
		for _, bad := range []string{swapped, good + "\n", good + " ", strings.ToUpper(good[:1]) + good[1:], good[:len(good)-1], ""} {
			if _, err := v.Verify(t.Context(), bad); bad != good && err == nil {
				t.Errorf("%q was accepted", bad)
			}
		}
	}
}

package auth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

func goodClaims() Claims {
	now := time.Now()
	return Claims{UserID: "ann", IssuedAt: now, ExpiresAt: now.Add(time.Hour)}
}

func TestSign(t *testing.T) {
	c := goodClaims()
	c.Scopes = []inbox.Scope{inbox.ScopeRead, inbox.ScopeAdmin}
	c.Issuer, c.Audience = "https://issuer.example", "belfry"
	token, err := Sign(testSecret, c)
	if err != nil {
		t.Fatal(err)
	}
	v := secretVerifier(t, Config{Issuer: c.Issuer, Audience: c.Audience})
	got, err := v.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	want := inbox.Caller{UserID: "ann", Scopes: c.Scopes, ExpiresAt: c.ExpiresAt.Truncate(time.Second)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("caller (-want +got):\n%s", diff)
	}
}

func TestSignRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Claims)
		secret []byte
		want   string
	}{
		{"short secret", func(*Claims) {}, testSecret[:31], "31 bytes"},
		{"no user", func(c *Claims) { c.UserID = "" }, testSecret, "user id"},
		{"control character", func(c *Claims) { c.UserID = "ann\n" }, testSecret, "user id"},
		{"unknown scope", func(c *Claims) { c.Scopes = []inbox.Scope{"dispach"} }, testSecret, `unknown scope "dispach"`},
		{"two scopes in one", func(c *Claims) { c.Scopes = []inbox.Scope{"read admin"} }, testSecret, "unknown scope"},
		{"expired", func(c *Claims) { c.ExpiresAt = c.IssuedAt }, testSecret, "must expire"},
		{"no expiry", func(c *Claims) { c.ExpiresAt = time.Time{} }, testSecret, "must expire"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := goodClaims()
			tt.change(&c)
			_, err := Sign(tt.secret, c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q in it", err, tt.want)
			}
			checkSilent(t, err, "")
		})
	}
}

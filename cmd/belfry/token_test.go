package main

import (
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// printed returns the token that belfry token prints.
func printed(t *testing.T, vars []string, args ...string) string {
	t.Helper()
	got := complete(t, vars, slices.Concat([]string{"token"}, args)...)
	got.check(t, 0)
	token, rest, ok := strings.Cut(got.stdout, "\n")
	if !ok || rest != "" || got.stderr != "" {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
	return token
}

func TestTokenClaims(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(testSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		vars []string
		args []string
		ttl  time.Duration
		want jwt.MapClaims
	}{
		{"user", secretVariable, []string{"--user", "ada"}, time.Hour, jwt.MapClaims{"sub": "ada"}},
		{"secret in a file", []string{"BELFRY_JWT_SECRET_FILE=" + file}, []string{"--user", "ada"}, time.Hour, jwt.MapClaims{"sub": "ada"}},
		{"user from the environment", append(slices.Clone(secretVariable), "BELFRY_USER=ada"), nil, time.Hour, jwt.MapClaims{"sub": "ada"}},
		{"everything", secretVariable, []string{"--user", "b c", "--scope", "read  dispatch", "--ttl", "90s", "--issuer", "i", "--audience", "a"},
			90 * time.Second, jwt.MapClaims{"sub": "b c", "scope": "read dispatch", "iss": "i", "aud": "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := jwt.MapClaims{}
			key := func(*jwt.Token) (any, error) { return []byte(testSecret), nil }
			if _, err := jwt.ParseWithClaims(printed(t, tt.vars, tt.args...), got, key, jwt.WithValidMethods([]string{"HS256"})); err != nil {
				t.Fatal(err)
			}
			issued, _ := got.GetIssuedAt()
			expires, _ := got.GetExpirationTime()
			if ttl := expires.Sub(issued.Time); ttl != tt.ttl || time.Since(issued.Time).Abs() > patience {
				t.Errorf("issued at %s for %s", issued, ttl)
			}
			delete(got, "iat")
			delete(got, "exp")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		vars     []string
		args     []string
		messages []string
	}{
		{"no user", secretVariable, nil, []string{"user id"}},
		{"long user", secretVariable, []string{"--user", strings.Repeat("x", 129)}, []string{"user id: want 1 to 128 bytes"}},
		{"unknown scope", secretVariable, []string{"--user", "ada", "--scope", "read fly"}, []string{`unknown scope "fly"`}},
		{"no time", secretVariable, []string{"--user", "ada", "--ttl", "0s"}, []string{"must expire after"}},
		{"no secret", nil, []string{"--user", "ada"}, []string{"set BELFRY_JWT_SECRET, or BELFRY_JWT_SECRET_FILE"}},
		{"no such file", []string{"BELFRY_JWT_SECRET_FILE=/nowhere/secret"}, []string{"--user", "ada"}, []string{"BELFRY_JWT_SECRET_FILE", "no such file"}},
		{"short secret", []string{"BELFRY_JWT_SECRET=hush"}, []string{"--scope", "fly"}, []string{"the secret has 4 bytes", "user id", `unknown scope "fly"`}},
		{"leftovers", secretVariable, []string{"--user", "ada", "dara"}, []string{`unexpected "dara"`}},
		{"secret as a flag", nil, []string{"--user", "ada", "--jwt-secret", testSecret}, []string{"-jwt-secret"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := complete(t, tt.vars, slices.Concat([]string{"token"}, tt.args)...)
			got.check(t, exitUsage, tt.messages...)
			if got.stdout != "" || strings.Contains(got.stderr, "hush") {
				t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
			}
		})
	}
}

// forged signs claims with whatever method and key.
func forged(t *testing.T, method jwt.SigningMethod, key any, sub string, expiresIn time.Duration) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": sub, "exp": time.Now().Add(expiresIn).Unix(), "scope": everyScope}
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A server knows belfry token's tokens, and answers every other with UNAUTHENTICATED and no data.
func TestServeTokens(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t))
	base := p.baseURL()
	var data struct{ Viewer struct{ UserID string } }
	newClient(t, base, printed(t, secretVariable, "--user", "ada")).must(t, `{ viewer { userId } }`, nil, &data)
	if data.Viewer.UserID != "ada" {
		t.Errorf("viewer %q", data.Viewer.UserID)
	}

	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := printed(t, secretVariable, "--user", "ada")
	parts := strings.Split(good, ".")
	tests := map[string]string{
		"none":            "",
		"not a token":     "x",
		"no signature":    parts[0] + "." + parts[1] + ".",
		"other claims":    parts[0] + "." + strings.Split(signed(t, "dara", ""), ".")[1] + "." + parts[2],
		"expired":         forged(t, jwt.SigningMethodHS256, []byte(testSecret), "ada", -time.Minute),
		"other key":       forged(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), "ada", time.Hour),
		"alg none":        forged(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "ada", time.Hour),
		"alg RS256":       forged(t, jwt.SigningMethodRS256, rsaKey, "ada", time.Hour),
		"alg HS512":       forged(t, jwt.SigningMethodHS512, []byte(testSecret), "ada", time.Hour),
		"sub of 10 KB":    forged(t, jwt.SigningMethodHS256, []byte(testSecret), strings.Repeat("x", 10<<10), time.Hour),
		"sub of 129":      forged(t, jwt.SigningMethodHS256, []byte(testSecret), strings.Repeat("x", 129), time.Hour),
		"empty sub":       forged(t, jwt.SigningMethodHS256, []byte(testSecret), "", time.Hour),
		"sub with a line": forged(t, jwt.SigningMethodHS256, []byte(testSecret), "a\nda", time.Hour),
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newClient(t, base, token).ask(t.Context(), `{ viewer { userId } }`, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != http.StatusOK || string(got.Data) != `{"viewer":null}` || len(got.Errors) != 1 ||
				got.Errors[0].Extensions.Code != string(inbox.Unauthenticated) {
				t.Errorf("HTTP %d, data %s, errors %+v", got.Status, got.Data, got.Errors)
			}
		})
	}
	if strings.Contains(p.stderr.String(), parts[1]) {
		t.Error("the log holds a token")
	}
}

// Without the scope a token is of no use to a producer, and with it the dispatch needs no other.
func TestServeScopes(t *testing.T) {
	t.Parallel()
	base := serve(t, storagetest.URL(t)).baseURL()
	for scope, want := range map[string]string{"": "FORBIDDEN", "read admin": "FORBIDDEN", "dispatch": ""} {
		token := printed(t, secretVariable, "--user", "shop", "--scope", scope)
		_, err := newClient(t, base, token).dispatch(t.Context(), "run", "ada")
		if got, _, _ := strings.Cut(errorText(err), ":"); got != want {
			t.Errorf("scope %q: %v, want %q", scope, err, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

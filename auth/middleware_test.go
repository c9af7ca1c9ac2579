package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

func TestMiddleware(t *testing.T) {
	v := secretVerifier(t, Config{})
	token := signed(t, jwt.SigningMethodHS256, testSecret, "", claims(nil))
	tests := []struct {
		name   string
		header []string
		want   string // the error's message; "" where ann is let in
	}{
		{"good", []string{"Bearer " + token}, ""},
		{"lower case", []string{"bearer " + token}, ""},
		{"upper case", []string{"BEARER " + token}, ""},
		{"two spaces", []string{"Bearer  " + token}, ""},
		{"no header", nil, "authentication required"},
		{"empty", []string{""}, "authorization scheme is not Bearer"},
		{"basic", []string{"Basic YW5uOmFubg=="}, "authorization scheme is not Bearer"},
		{"token alone", []string{token}, "authorization scheme is not Bearer"},
		{"longer scheme", []string{"BearerX " + token}, "authorization scheme is not Bearer"},
		{"tab", []string{"Bearer\t" + token}, "authorization scheme is not Bearer"},
		{"scheme alone", []string{"Bearer"}, "token is malformed"},
		{"scheme and spaces", []string{"Bearer   "}, "token is malformed"},
		{"bad token", []string{"Bearer x"}, "token is malformed"},
		{"two tokens in one", []string{"Bearer " + token + ", Bearer " + token}, "token is malformed"},
		{"two headers", []string{"Bearer " + token, "Bearer " + token}, "more than one Authorization header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			caller, err := through(t, v, tt.header)
			if tt.want == "" {
				if err != nil || caller.UserID != "ann" {
					t.Fatalf("got %q, %v, want ann", caller.UserID, err)
				}
				return
			}
			if err == nil {
				t.Fatalf("let in as %q, want %q", caller.UserID, tt.want)
			}
			if got := err.Error(); got != tt.want {
				t.Errorf("got error %q, want %q", got, tt.want)
			}
			if got := inbox.ErrorCode(err); got != inbox.Unauthenticated {
				t.Errorf("got code %s, want %s", got, inbox.Unauthenticated)
			}
			checkSilent(t, err, token)
		})
	}
}

// through sends a request through the middleware and returns what the handler behind it finds. The
// handler must be reached in every case.
func through(t *testing.T, v *Verifier, header []string) (caller inbox.Caller, err error) {
	t.Helper()
	reached := false
	h := v.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = true
		caller, err = inbox.CallerFrom(r.Context())
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", http.NoBody)
	r.Header["Authorization"] = header
	h.ServeHTTP(httptest.NewRecorder(), r)
	if !reached {
		t.Fatal("the handler was not reached")
	}
	return caller, err
}

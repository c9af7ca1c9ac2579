package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

var (
	testSecret  = []byte("0123456789abcdef0123456789abcdef")
	otherSecret = []byte("fedcba9876543210fedcba9876543210")
)

// testKeys are made once: an RSA key costs a second under the race detector.
var testKeys = sync.OnceValue(func() (k struct {
	rsa, rsaOther, rsaShort *rsa.PrivateKey
	p256, p384              *ecdsa.PrivateKey
	ed                      ed25519.PrivateKey
},
) {
	k.rsa = must(rsa.GenerateKey(rand.Reader, 2048))
	k.rsaOther = must(rsa.GenerateKey(rand.Reader, 2048))
	k.rsaShort = must(rsa.GenerateKey(rand.Reader, 1024))
	k.p256 = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	k.p384 = must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	k.ed = must(ed, err)
	return k
})

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// claims returns good claims for ann, with changes: a nil value removes a claim.
func claims(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// signed makes a token with any method and key, and with a kid where it is not "".
func signed(t testing.TB, method jwt.SigningMethod, key any, kid string, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	if kid != "" {
		token.Header["kid"] = kid
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jwk returns the JSON of a public key, with members changed or added.
func jwk(t testing.TB, kid string, key any, changes map[string]any) json.RawMessage {
	t.Helper()
	k, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid}})
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{}
	if err := json.Unmarshal(must(json.Marshal(k.Marshal())), &members); err != nil {
		t.Fatal(err)
	}
	maps.Copy(members, changes)
	return must(json.Marshal(members))
}

func jwks(keys ...json.RawMessage) string {
	return string(must(json.Marshal(map[string]any{"keys": keys})))
}

// issuer answers as a JWKS endpoint without a network, so that it works in a synctest bubble.
type issuer struct {
	answer  atomic.Pointer[func(*http.Request) (*http.Response, error)]
	fetches atomic.Int32
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.fetches.Add(1)
	return (*i.answer.Load())(r)
}

func (i *issuer) set(answer func(*http.Request) (*http.Response, error)) { i.answer.Store(&answer) }

// serve makes the issuer answer with a body.
func (i *issuer) serve(body string) {
	i.set(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})
}

// fail makes the issuer unreachable.
func (i *issuer) fail() {
	i.set(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
}

// hang makes the issuer answer nothing until the request is cancelled.
func (i *issuer) hang() {
	i.set(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
}

func newIssuer(body string) *issuer {
	i := &issuer{}
	i.serve(body)
	return i
}

// verifierOf returns a Verifier that gets its keys from transport.
func verifierOf(t testing.TB, transport http.RoundTripper) *Verifier {
	t.Helper()
	v, err := open(t.Context(), Config{JWKSURL: "https://issuer.example/keys"}, slog.New(slog.DiscardHandler), transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func secretVerifier(t testing.TB, cfg Config) *Verifier {
	t.Helper()
	cfg.Secret = testSecret
	v, err := Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkVerify verifies the token and compares the error with want, "" meaning that it is accepted.
// Whatever the outcome, no part of the token may show.
func checkVerify(t *testing.T, v *Verifier, token, want string) {
	t.Helper()
	caller, err := v.Verify(t.Context(), token)
	if want == "" {
		if err != nil {
			t.Fatalf("Verify: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("accepted for %q, want %q", caller.UserID, want)
	}
	if got := err.Error(); got != want {
		t.Errorf("got error %q, want %q", got, want)
	}
	if got := inbox.ErrorCode(err); got != inbox.Unauthenticated {
		t.Errorf("got code %s, want %s", got, inbox.Unauthenticated)
	}
	checkSilent(t, err, token)
}

// checkSilent fails where an error shows a part of the token or the secret.
func checkSilent(t *testing.T, err error, token string) {
	t.Helper()
	for _, part := range append(strings.Split(token, "."), string(testSecret)) {
		if len(part) >= 8 && strings.Contains(err.Error(), part) {
			t.Errorf("the error shows a part of the token or the secret: %q", err)
		}
	}
}

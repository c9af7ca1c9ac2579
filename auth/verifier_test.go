package auth

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

func segment(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func TestVerifyClaims(t *testing.T) {
	cfg := Config{Issuer: "https://issuer.example", Audience: "belfry"}
	v := secretVerifier(t, cfg)
	now := time.Now()
	tests := []struct {
		name    string
		changes jwt.MapClaims
		want    string
	}{
		{"good", nil, ""},
		{"one audience of several", jwt.MapClaims{"aud": []string{"else", "belfry"}}, ""},
		{"nbf past", jwt.MapClaims{"nbf": now.Add(-time.Minute).Unix()}, ""},
		{"sub of 128 bytes", jwt.MapClaims{"sub": strings.Repeat("a", 128)}, ""},
		{"unknown scope", jwt.MapClaims{"scope": "launch"}, ""},
		{"expired", jwt.MapClaims{"exp": now.Add(-time.Second).Unix()}, "token has expired"},
		{"no exp", jwt.MapClaims{"exp": nil}, "token lacks a required claim: exp, aud or iss"},
		{"exp 0", jwt.MapClaims{"exp": 0}, "token lacks a required claim: exp, aud or iss"},
		{"exp not a number", jwt.MapClaims{"exp": "tomorrow"}, "token has a claim of the wrong type"},
		{"nbf future", jwt.MapClaims{"nbf": now.Add(time.Minute).Unix()}, "token is not valid yet"},
		{"other aud", jwt.MapClaims{"aud": "else"}, "token is for another audience"},
		{"no aud", jwt.MapClaims{"aud": nil}, "token lacks a required claim: exp, aud or iss"},
		{"aud not a string", jwt.MapClaims{"aud": 7}, "token lacks a required claim: exp, aud or iss"},
		{"aud a list of numbers", jwt.MapClaims{"aud": []int{7}}, "token has a claim of the wrong type"},
		{"other iss", jwt.MapClaims{"iss": "https://else.example"}, "token is from another issuer"},
		{"no iss", jwt.MapClaims{"iss": nil}, "token lacks a required claim: exp, aud or iss"},
		{"iss not a string", jwt.MapClaims{"iss": 7}, "token has a claim of the wrong type"},
		{"no sub", jwt.MapClaims{"sub": nil}, "token's sub is not a user id"},
		{"empty sub", jwt.MapClaims{"sub": ""}, "token's sub is not a user id"},
		{"sub a number", jwt.MapClaims{"sub": 7}, "token's sub is not a user id"},
		{"sub a list", jwt.MapClaims{"sub": []string{"ann"}}, "token's sub is not a user id"},
		{"sub of 129 bytes", jwt.MapClaims{"sub": strings.Repeat("a", 129)}, "token's sub is not a user id"},
		{"sub with NUL", jwt.MapClaims{"sub": "ann\x00"}, "token's sub is not a user id"},
		{"sub with a line break", jwt.MapClaims{"sub": "ann\nbob"}, "token's sub is not a user id"},
		{"sub in other case", jwt.MapClaims{"sub": nil, "SUB": "ann"}, "token's sub is not a user id"},
		{"sub of 10 KB", jwt.MapClaims{"sub": strings.Repeat("a", 10<<10)}, "token is too long"},
		{"scope a list", jwt.MapClaims{"scope": []string{"admin"}}, "token's scope is not a string"},
		{"scope true", jwt.MapClaims{"scope": true}, "token's scope is not a string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := claims(jwt.MapClaims{"iss": cfg.Issuer, "aud": cfg.Audience})
			for name, value := range tt.changes {
				c[name] = value
			}
			checkVerify(t, v, signed(t, jwt.SigningMethodHS256, testSecret, "", claims(c)), tt.want)
		})
	}
}

func TestVerifySecret(t *testing.T) {
	v := secretVerifier(t, Config{})
	keys := testKeys()
	good := signed(t, jwt.SigningMethodHS256, testSecret, "", claims(nil))
	part := strings.Split(good, ".")
	tests := []struct{ name, token, want string }{
		{"good", good, ""},
		{"kid is ignored", signed(t, jwt.SigningMethodHS256, testSecret, "k", claims(nil)), ""},
		{"other secret", signed(t, jwt.SigningMethodHS256, otherSecret, "", claims(nil)), "token's signature does not match"},
		{"HS384", signed(t, jwt.SigningMethodHS384, testSecret, "", claims(nil)), "token's algorithm is not accepted"},
		{"HS512", signed(t, jwt.SigningMethodHS512, testSecret, "", claims(nil)), "token's algorithm is not accepted"},
		{"RS256", signed(t, jwt.SigningMethodRS256, keys.rsa, "", claims(nil)), "token's algorithm is not accepted"},
		{"ES256", signed(t, jwt.SigningMethodES256, keys.p256, "", claims(nil)), "token's algorithm is not accepted"},
		{"EdDSA", signed(t, jwt.SigningMethodEdDSA, keys.ed, "", claims(nil)), "token's algorithm is not accepted"},
		{"none", signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", claims(nil)), "token's algorithm is not accepted"},
		{"None, signed", segment(`{"alg":"None"}`) + "." + part[1] + "." + part[2], "token's algorithm is not accepted"},
		{"no alg", segment(`{}`) + "." + part[1] + "." + part[2], "token's algorithm is not accepted"},
		{"alg a list", segment(`{"alg":["HS256"]}`) + "." + part[1] + "." + part[2], "token's algorithm is not accepted"},
		{"critical extension", critical(t), "token needs an extension that is not supported"},
		{"signature cut", part[0] + "." + part[1] + "." + part[2][:20], "token's signature does not match"},
		{"no signature", part[0] + "." + part[1] + ".", "token's signature does not match"},
		{"padded signature", good + "=", "token is malformed"},
		{"other claims", part[0] + "." + segment(`{"sub":"bob","exp":9999999999}`) + "." + part[2], "token's signature does not match"},
		{"claims null", part[0] + "." + segment(`null`) + "." + part[2], "token's signature does not match"},
		{"claims a list", part[0] + "." + segment(`[]`) + "." + part[2], "token is malformed"},
		{"header null", segment(`null`) + "." + part[1] + "." + part[2], "token's algorithm is not accepted"},
		{"two segments", part[0] + "." + part[1], "token is malformed"},
		{"four segments", good + ".x", "token is malformed"},
		{"empty", "", "token is malformed"},
		{"whitespace", " \t ", "token is malformed"},
		{"space in front", " " + good, "token is malformed"},
		{"line break behind", good + "\n", "token is malformed"},
		{"line break inside", good[:9] + "\r\n" + good[9:], "token is malformed"},
		{"two dots", "..", "token is malformed"},
		{"garbage", "\xff\x00garbage", "token is malformed"},
		{"1 MB", strings.Repeat("a", 1<<20), "token is too long"},
		{"1 MB of dots", strings.Repeat(".", 1<<20), "token is too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkVerify(t, v, tt.token, tt.want) })
	}
}

// critical is a token that is good but for a header that says: understand exp or refuse.
func critical(t *testing.T) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims(nil))
	token.Header["crit"] = []string{"exp"}
	s, err := token.SignedString(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVerifyJWKS(t *testing.T) {
	keys := testKeys()
	v := verifierOf(t, newIssuer(jwks(
		jwk(t, "rsa", keys.rsa.Public(), nil),
		jwk(t, "ec", keys.p256.Public(), map[string]any{"alg": "ES256", "use": "sig"}),
		jwk(t, "ed", keys.ed.Public(), map[string]any{"key_ops": []string{"verify"}}),
		jwk(t, "short", keys.rsaShort.Public(), nil),
		jwk(t, "p384", keys.p384.Public(), nil),
		jwk(t, "enc", keys.rsaOther.Public(), map[string]any{"use": "enc"}),
		jwk(t, "wrap", keys.rsaOther.Public(), map[string]any{"key_ops": []string{"wrapKey"}}),
		jwk(t, "rs512", keys.rsaOther.Public(), map[string]any{"alg": "RS512"}),
		[]byte(`{"kty":"oct","kid":"oct","k":"`+segment(string(testSecret))+`"}`),
		[]byte(`{"kty":"RSA","kid":"broken","e":"AQAB"}`),
		[]byte(`{"kty":"PQ","kid":"unheard of"}`),
		[]byte(`7`),
	)))
	der := must(x509.MarshalPKIXPublicKey(keys.rsa.Public()))
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	numericKID := jwt.NewWithClaims(jwt.SigningMethodRS256, claims(nil))
	numericKID.Header["kid"] = 7
	tests := []struct{ name, token, want string }{
		{"RS256", signed(t, jwt.SigningMethodRS256, keys.rsa, "rsa", claims(nil)), ""},
		{"ES256", signed(t, jwt.SigningMethodES256, keys.p256, "ec", claims(nil)), ""},
		{"EdDSA", signed(t, jwt.SigningMethodEdDSA, keys.ed, "ed", claims(nil)), ""},
		{"RS256 without kid", signed(t, jwt.SigningMethodRS256, keys.rsa, "", claims(nil)), ""},
		{"ES256 without kid", signed(t, jwt.SigningMethodES256, keys.p256, "", claims(nil)), ""},
		{"other key", signed(t, jwt.SigningMethodRS256, keys.rsaOther, "rsa", claims(nil)), "token's signature does not match"},
		{"other key without kid", signed(t, jwt.SigningMethodRS256, keys.rsaOther, "", claims(nil)), "token's signature does not match"},
		{"unknown kid", signed(t, jwt.SigningMethodRS256, keys.rsa, "gone", claims(nil)), "token's key is unknown"},
		{"kid not a string", must(numericKID.SignedString(keys.rsa)), "token's key does not fit its algorithm"},
		{"kid of a key of another type", signed(t, jwt.SigningMethodES256, keys.p256, "rsa", claims(nil)), "token's key does not fit its algorithm"},
		{"key for another algorithm", signed(t, jwt.SigningMethodRS256, keys.rsaOther, "rs512", claims(nil)), "token's key does not fit its algorithm"},
		{"short RSA key", signed(t, jwt.SigningMethodRS256, keys.rsaShort, "short", claims(nil)), "token's key is unknown"},
		{"encryption key", signed(t, jwt.SigningMethodRS256, keys.rsaOther, "enc", claims(nil)), "token's key is unknown"},
		{"wrapping key", signed(t, jwt.SigningMethodRS256, keys.rsaOther, "wrap", claims(nil)), "token's key is unknown"},
		{"P-384", signed(t, jwt.SigningMethodES384, keys.p384, "p384", claims(nil)), "token's algorithm is not accepted"},
		{"RS512", signed(t, jwt.SigningMethodRS512, keys.rsa, "rsa", claims(nil)), "token's algorithm is not accepted"},
		{"PS256", signed(t, jwt.SigningMethodPS256, keys.rsa, "rsa", claims(nil)), "token's algorithm is not accepted"},
		{"none", signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "rsa", claims(nil)), "token's algorithm is not accepted"},
		{"HS256 with the public key", signed(t, jwt.SigningMethodHS256, inPEM, "rsa", claims(nil)), "token's algorithm is not accepted"},
		{"HS256 with the key in DER", signed(t, jwt.SigningMethodHS256, der, "rsa", claims(nil)), "token's algorithm is not accepted"},
		{"HS256 with the set's own secret", signed(t, jwt.SigningMethodHS256, testSecret, "oct", claims(nil)), "token's algorithm is not accepted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { checkVerify(t, v, tt.token, tt.want) })
	}
}

func TestVerifyCaller(t *testing.T) {
	v := secretVerifier(t, Config{Leeway: 5 * time.Second})
	exp := time.Now().Add(time.Hour).Truncate(time.Second)
	tests := []struct {
		name  string
		scope any
		want  []inbox.Scope
	}{
		{"none", nil, nil},
		{"empty", "", nil},
		{"one", "read", []inbox.Scope{inbox.ScopeRead}},
		{"all, twice", "admin read dispatch admin", []inbox.Scope{inbox.ScopeDispatch, inbox.ScopeRead, inbox.ScopeAdmin}},
		{"unknown ones", "openid  read profile", []inbox.Scope{inbox.ScopeRead}},
		{"not quite", "Admin adminx admin\tread", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := claims(jwt.MapClaims{"exp": exp.Unix(), "scope": tt.scope})
			got, err := v.Verify(t.Context(), signed(t, jwt.SigningMethodHS256, testSecret, "", c))
			if err != nil {
				t.Fatal(err)
			}
			want := inbox.Caller{UserID: "ann", Scopes: tt.want, ExpiresAt: exp.Add(5 * time.Second)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

// after lets time pass in a synctest bubble.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestVerifyLeeway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := secretVerifier(t, Config{Leeway: 5 * time.Second})
		token := signed(t, jwt.SigningMethodHS256, testSecret, "", jwt.MapClaims{
			"sub": "ann",
			"nbf": time.Now().Add(10 * time.Second).Unix(),
			"exp": time.Now().Add(20 * time.Second).Unix(),
		})
		checkVerify(t, v, token, "token is not valid yet")
		after(5 * time.Second)
		checkVerify(t, v, token, "")
		caller, err := v.Verify(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		after(time.Until(caller.ExpiresAt) - time.Nanosecond)
		checkVerify(t, v, token, "")
		after(time.Nanosecond)
		checkVerify(t, v, token, "token has expired")
	})
}

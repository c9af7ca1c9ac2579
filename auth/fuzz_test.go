package auth

import (
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

// FuzzVerify never panics, never accepts and never shows the token: the seeds are good tokens of
// another issuer, and what can be made of them without the key.
func FuzzVerify(f *testing.F) {
	keys := testKeys()
	verifiers := []*Verifier{
		secretVerifier(f, Config{}),
		verifierOf(f, newIssuer(jwks(
			jwk(f, "rsa", keys.rsaOther.Public(), nil),
			jwk(f, "ec", keys.p256.Public(), nil),
		))),
	}
	stranger := signed(f, jwt.SigningMethodHS256, otherSecret, "", claims(nil))
	f.Add(stranger)
	f.Add(signed(f, jwt.SigningMethodRS256, keys.rsa, "rsa", claims(nil)))
	f.Add(signed(f, jwt.SigningMethodEdDSA, keys.ed, "ec", claims(nil)))
	f.Add(signed(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", claims(nil)))
	f.Add(segment(`{"alg":"ES256","kid":"ec"}`) + "." + segment(`{"sub":"ann"}`) + "." + segment(strings.Repeat("\x00", 64)))
	f.Add(segment(`{"alg":"HS256","crit":["exp"]}`) + ".." + segment("x"))
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		for _, v := range verifiers {
			caller, err := v.Verify(t.Context(), token)
			if err == nil {
				t.Fatalf("accepted for %q", caller.UserID)
			}
			if got := inbox.ErrorCode(err); got != inbox.Unauthenticated {
				t.Errorf("got code %s, want %s", got, inbox.Unauthenticated)
			}
			// Longer parts alone, and those that a message cannot hold by chance.
			for part := range strings.SplitSeq(token, ".") {
				if len(part) >= 32 && strings.Contains(err.Error(), part) {
					t.Errorf("the error shows a part of the token: %q", err)
				}
			}
		}
	})
}

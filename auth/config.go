package auth

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

const (
	// MinSecret is the shortest secret, in bytes: what HS256 asks for (RFC 7518, section 3.2).
	MinSecret = 32
	// MaxLeeway is the largest Config.Leeway.
	MaxLeeway = time.Minute
)

// Config says whose tokens are accepted. Exactly one of Secret and JWKSURL is set.
type Config struct {
	// Secret verifies HS256, and nothing else. It has MinSecret bytes or more.
	Secret []byte
	// JWKSURL is where the keys for RS256, ES256 and EdDSA are fetched, and nothing else: an https
	// URL, or an http one whose host is this machine.
	JWKSURL string
	// Issuer is what a token's iss must be. Empty means any.
	Issuer string
	// Audience is what a token's aud must contain. Empty means any.
	Audience string
	// Leeway is how far the issuer's clock may be off: a token counts that much longer after its
	// exp and that much earlier before its nbf. From 0 to MaxLeeway.
	Leeway time.Duration
}

// validate reports every fault at once. It never repeats the secret.
func (c Config) validate() error {
	var faults []error
	if (len(c.Secret) == 0) == (c.JWKSURL == "") {
		faults = append(faults, errors.New("exactly one of secret and JWKS URL must be set"))
	}
	if n := len(c.Secret); n > 0 && n < MinSecret {
		faults = append(faults, fmt.Errorf("the secret has %d bytes, it needs %d or more", n, MinSecret))
	}
	if c.JWKSURL != "" {
		faults = append(faults, validateJWKSURL(c.JWKSURL))
	}
	if c.Leeway < 0 || c.Leeway > MaxLeeway {
		faults = append(faults, fmt.Errorf("leeway %v is outside 0s to %v", c.Leeway, MaxLeeway))
	}
	return errors.Join(faults...)
}

// validateJWKSURL refuses a URL over which somebody on the way could plant keys. Its errors leave
// the URL out, since one that is refused for its password holds one.
func validateJWKSURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "":
		return errors.New("the JWKS URL is not a URL with a host")
	case u.User != nil:
		return errors.New("the JWKS URL must not hold a user name or password")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return errors.New("the JWKS URL must be https, or http to this machine")
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

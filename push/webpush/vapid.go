package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// How long a signed token is good, and how long it is used. RFC 8292 allows a day, and clocks differ.
const (
	tokenLife   = 12 * time.Hour
	tokenReused = time.Hour
)

// maxTokens bounds the signed tokens that are kept: below a wildcard a client can name any number of hosts.
const maxTokens = 256

// jwtHeader is {"typ":"JWT","alg":"ES256"}.
const jwtHeader = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9"

// base64url is how keys and tokens are written.
var base64url = base64.RawURLEncoding.Strict()

// GenerateKeys returns a new VAPID pair in base64url, as Config takes it. The public key is what browsers
// call applicationServerKey.
func GenerateKeys() (publicKey, privateKey string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("generate VAPID keys: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("generate VAPID keys: %w", err)
	}
	private, err := key.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("generate VAPID keys: %w", err)
	}
	return base64url.EncodeToString(public), base64url.EncodeToString(private), nil
}

func parseKeys(publicKey, privateKey string) (*ecdsa.PrivateKey, error) {
	raw, err := base64url.DecodeString(privateKey)
	if err != nil {
		// The decoder's error would tell a place in the key.
		return nil, errors.New("VAPID private key: must be base64url without padding")
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("VAPID private key: must be 32 bytes of P-256")
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("VAPID private key: %w", err)
	}
	if base64url.EncodeToString(public) != publicKey {
		return nil, errors.New("VAPID keys: the public key is not the private key's")
	}
	return key, nil
}

// signer makes the Authorization header of RFC 8292, one for each origin.
type signer struct {
	key                *ecdsa.PrivateKey
	publicKey, subject string

	mu     sync.Mutex
	tokens map[string]token // by origin; mu guards it
}

type token struct {
	header   string
	signedAt time.Time
}

// authorization returns the header for an origin.
func (s *signer) authorization(origin string, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tokens[origin]; ok && now.Sub(t.signedAt) < tokenReused {
		return t.header, nil
	}
	jwt, err := s.sign(origin, now.Add(tokenLife))
	if err != nil {
		return "", err
	}
	t := token{header: "vapid t=" + jwt + ", k=" + s.publicKey, signedAt: now}
	if s.tokens == nil || len(s.tokens) >= maxTokens {
		s.tokens = make(map[string]token)
	}
	s.tokens[origin] = t
	return t.header, nil
}

// sign makes a JSON Web Token with ES256: r and s side by side, 32 bytes each (RFC 7518, section 3.4).
func (s *signer) sign(audience string, expiry time.Time) (string, error) {
	claims, err := json.Marshal(struct {
		Audience string `json:"aud"`
		Expiry   int64  `json:"exp"`
		Subject  string `json:"sub"`
	}{audience, expiry.Unix(), s.subject})
	if err != nil {
		return "", fmt.Errorf("sign VAPID token: %w", err)
	}
	signed := jwtHeader + "." + base64url.EncodeToString(claims)
	hash := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, hash[:])
	if err != nil {
		return "", fmt.Errorf("sign VAPID token: %w", err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	v.FillBytes(signature[32:])
	return signed + "." + base64url.EncodeToString(signature[:]), nil
}

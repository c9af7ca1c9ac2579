package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/MicahParks/jwkset"
)

const (
	fetchTimeout = 5 * time.Second
	maxJWKS      = 1 << 20
	maxRedirects = 3
	// minRSA is in bits (RFC 7518, section 3.3).
	minRSA = 2048
)

// source is where a JWKS (RFC 7517) comes from.
type source struct {
	url    string
	client *http.Client
}

func newSource(url string, transport http.RoundTripper) *source {
	return &source{url, &http.Client{Transport: transport, CheckRedirect: sameHost}}
}

// newTransport keeps no connections: between two fetches lie minutes.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// sameHost lets no redirect move the keys to another host or to another scheme.
func sameHost(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(via) > maxRedirects {
		return errors.New("redirect refused")
	}
	return nil
}

// fetch returns the usable keys. Its errors leave the URL out, whose query may hold a key of the
// operator's.
func (s *source) fetch(ctx context.Context) ([]jwkset.JWK, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := s.get(ctx)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return nil, e.Err
	}
	if err != nil {
		return nil, err
	}
	return parseJWKS(body)
}

func (s *source) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxJWKS+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxJWKS {
		return nil, fmt.Errorf("more than %d bytes", maxJWKS)
	}
	return body, nil
}

// parseJWKS returns the keys that can verify a token. Others are passed over: RFC 7517, section 5,
// wants what is not understood to be ignored, and one odd key must not lock everybody out. A set
// that is empty is believed, so that an issuer can withdraw its keys.
func parseJWKS(body []byte) ([]jwkset.JWK, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New("parse: no keys member")
	}
	var keys []jwkset.JWK
	for _, raw := range set.Keys {
		key, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err == nil && canVerify(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// canVerify reports whether the key is meant for signatures and fits RS256, ES256 or EdDSA. The JWT
// library checks the type of a key, but would take any curve for ES256.
func canVerify(key jwkset.JWK) bool {
	meta := key.Marshal()
	if meta.USE != "" && meta.USE != jwkset.UseSig {
		return false
	}
	if len(meta.KEYOPS) > 0 && !slices.Contains(meta.KEYOPS, jwkset.KeyOpsVerify) {
		return false
	}
	switch public := key.Key().(type) {
	case *rsa.PublicKey:
		return public.N.BitLen() >= minRSA
	case *ecdsa.PublicKey:
		return public.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return true
	}
	return false
}

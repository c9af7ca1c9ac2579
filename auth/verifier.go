package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

// MaxToken is the longest token that is looked at, in bytes.
const MaxToken = 8 << 10

// Verifier checks tokens against one secret or one JWKS. It is safe for concurrent use.
type Verifier struct {
	methods []string
	parser  *jwt.Parser
	leeway  time.Duration
	secret  []byte  // nil with a JWKS
	keys    *keySet // nil with a secret
	cache   cache
}

// Open makes a Verifier. With a JWKS URL it fetches the keys once, for at most 5 seconds, and then
// again in the background until ctx ends or Close is called. An unreachable URL is logged and is no
// error: Verify answers Unavailable until the keys are there. The error reports every fault of cfg.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (*Verifier, error) {
	return open(ctx, cfg, log, newTransport())
}

// open is Open with the transport that fetches the keys.
func open(ctx context.Context, cfg Config, log *slog.Logger, transport http.RoundTripper) (*Verifier, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{methods: []string{"HS256"}, leeway: cfg.Leeway, secret: slices.Clone(cfg.Secret), cache: newCache()}
	if cfg.JWKSURL != "" {
		v.methods = []string{"RS256", "ES256", "EdDSA"}
		v.keys = openKeySet(ctx, cfg.JWKSURL, log, transport)
	}
	v.parser = newParser(cfg, v.methods)
	return v, nil
}

func newParser(cfg Config, methods []string) *jwt.Parser {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(methods),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(cfg.Leeway),
		jwt.WithStrictDecoding(),
	}
	if cfg.Issuer != "" {
		options = append(options, jwt.WithIssuer(cfg.Issuer))
	}
	if cfg.Audience != "" {
		options = append(options, jwt.WithAudience(cfg.Audience))
	}
	return jwt.NewParser(options...)
}

// Close ends the background refresh of the keys and waits for it. Keys that were fetched stay in
// use.
func (v *Verifier) Close() {
	if v.keys != nil {
		v.keys.close()
	}
}

// Verify returns whom the token speaks for. It fails with Unauthenticated where the token cannot be
// accepted, and with Unavailable as long as the keys have never been fetched. An unknown key id has
// the keys fetched again, at most every 10 seconds, and waits for that. A token that was accepted is not
// looked into again for a minute.
func (v *Verifier) Verify(ctx context.Context, token string) (inbox.Caller, error) {
	if len(token) > MaxToken {
		return inbox.Caller{}, refuse("token is too long")
	}
	key, now := sha256.Sum256([]byte(token)), time.Now()
	if caller, ok := v.cache.caller(key, now); ok {
		return caller, nil
	}
	// The base64 decoder skips line breaks, so that one token would have many spellings.
	if strings.ContainsAny(token, "\r\n") {
		return inbox.Caller{}, refuse("token is malformed")
	}
	claims := jwt.MapClaims{}
	parsed, err := v.parser.ParseWithClaims(token, claims, v.keyFor(ctx))
	if err != nil {
		return inbox.Caller{}, v.explain(parsed, err)
	}
	caller, err := callerOf(claims, v.leeway)
	if err != nil {
		return inbox.Caller{}, err
	}
	v.cache.remember(key, caller, now)
	return caller, nil
}

func (v *Verifier) keyFor(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		// RFC 7515, section 4.1.11: an extension marked critical must be understood or the token
		// refused. The JWT library knows none and does not look.
		if _, ok := token.Header["crit"]; ok {
			return nil, refuse("token needs an extension that is not supported")
		}
		if v.keys == nil {
			return v.secret, nil
		}
		return v.keys.find(ctx, token)
	}
}

// reasons are the library's errors in the order in which they are looked for: what is specific
// comes before what wraps it.
var reasons = []struct {
	cause   error
	message string
}{
	{jwt.ErrInvalidKeyType, "token's key does not fit its algorithm"},
	{jwt.ErrTokenExpired, "token has expired"},
	{jwt.ErrTokenNotValidYet, "token is not valid yet"},
	{jwt.ErrTokenInvalidAudience, "token is for another audience"},
	{jwt.ErrTokenInvalidIssuer, "token is from another issuer"},
	{jwt.ErrTokenRequiredClaimMissing, "token lacks a required claim: exp, aud or iss"},
	{jwt.ErrInvalidType, "token has a claim of the wrong type"},
	{jwt.ErrTokenSignatureInvalid, "token's signature does not match"},
	{jwt.ErrTokenUnverifiable, "token's algorithm is not accepted"},
}

// explain replaces the library's error, which may quote the token, by a constant message.
func (v *Verifier) explain(token *jwt.Token, err error) error {
	if ours, ok := errors.AsType[*inbox.Error](err); ok {
		return ours
	}
	if token != nil && token.Method != nil && !slices.Contains(v.methods, token.Method.Alg()) {
		return refuse("token's algorithm is not accepted")
	}
	for _, reason := range reasons {
		if errors.Is(err, reason.cause) {
			return refuse(reason.message)
		}
	}
	return refuse("token is malformed")
}

func refuse(message string) error { return &inbox.Error{Code: inbox.Unauthenticated, Message: message} }

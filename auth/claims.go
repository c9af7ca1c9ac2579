package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

// scopes are all there are. A token may carry others, which are meant for somebody else.
var scopes = []inbox.Scope{inbox.ScopeDispatch, inbox.ScopeRead, inbox.ScopeAdmin}

// callerOf reads the claims of a token whose signature, exp, nbf, aud and iss have been checked.
func callerOf(claims jwt.MapClaims, leeway time.Duration) (inbox.Caller, error) {
	sub, ok := claims["sub"].(string)
	if !ok || !inbox.ValidUserID(sub) {
		return inbox.Caller{}, refuse("token's sub is not a user id")
	}
	granted, err := scopesOf(claims)
	if err != nil {
		return inbox.Caller{}, err
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil {
		return inbox.Caller{}, refuse("token lacks a required claim: exp, aud or iss")
	}
	// With the leeway, so that a connection lives exactly as long as its token is accepted. Without
	// it, a client whose clock is slow could connect and would be cut off at once, again and again.
	return inbox.Caller{UserID: sub, Scopes: granted, ExpiresAt: exp.Add(leeway)}, nil
}

// scopesOf returns the known scopes of a token, each once. The list's form is RFC 8693's, section
// 4.2: a string, separated by spaces.
func scopesOf(claims jwt.MapClaims) ([]inbox.Scope, error) {
	claim, ok := claims["scope"]
	if !ok {
		return nil, nil
	}
	list, ok := claim.(string)
	if !ok {
		return nil, refuse("token's scope is not a string")
	}
	named := strings.Split(list, " ")
	var granted []inbox.Scope
	for _, scope := range scopes {
		if slices.Contains(named, string(scope)) {
			granted = append(granted, scope)
		}
	}
	return granted, nil
}

// Claims is what Sign puts into a token.
type Claims struct {
	// UserID becomes sub.
	UserID string
	// Scopes may be empty: a user needs none for its own inbox.
	Scopes []inbox.Scope
	// IssuedAt and ExpiresAt are rounded down to seconds.
	IssuedAt, ExpiresAt time.Time
	// Issuer and Audience are left out where empty.
	Issuer, Audience string
}

// Sign makes an HS256 token that a Verifier with the same secret accepts. The error reports every
// fault of the arguments and never holds the secret.
func Sign(secret []byte, claims Claims) (string, error) {
	if err := claims.validate(secret); err != nil {
		return "", err
	}
	body := jwt.MapClaims{
		"sub": claims.UserID,
		"iat": claims.IssuedAt.Unix(),
		"exp": claims.ExpiresAt.Unix(),
	}
	if len(claims.Scopes) > 0 {
		body["scope"] = joinScopes(claims.Scopes)
	}
	if claims.Issuer != "" {
		body["iss"] = claims.Issuer
	}
	if claims.Audience != "" {
		body["aud"] = claims.Audience
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, body).SignedString(secret)
}

func (c Claims) validate(secret []byte) error {
	var faults []error
	if len(secret) < MinSecret {
		faults = append(faults, fmt.Errorf("the secret has %d bytes, it needs %d or more", len(secret), MinSecret))
	}
	if !inbox.ValidUserID(c.UserID) {
		faults = append(faults, fmt.Errorf("user id: want 1 to %d bytes without control characters", inbox.MaxUserID))
	}
	// A scope that is misspelt would be ignored by every Verifier, without a word.
	for _, scope := range c.Scopes {
		if !slices.Contains(scopes, scope) {
			faults = append(faults, fmt.Errorf("unknown scope %q", scope))
		}
	}
	if !c.ExpiresAt.After(c.IssuedAt) {
		faults = append(faults, errors.New("the token must expire after it is issued"))
	}
	return errors.Join(faults...)
}

func joinScopes(list []inbox.Scope) string {
	names := make([]string, len(list))
	for i, scope := range list {
		names[i] = string(scope)
	}
	return strings.Join(names, " ")
}

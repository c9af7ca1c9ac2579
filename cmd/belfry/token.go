package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"belfry/auth"
	"belfry/inbox"
)

func runToken(_ context.Context, env environment, args []string) error {
	f := newFlags("token", env)
	user := f.String("user", "", "the user's id (required)")
	scope := f.String("scope", "", `what the token allows beyond the user's own inbox: any of "dispatch read admin"`)
	ttl := f.Duration("ttl", time.Hour, "how long the token is good for")
	issuer := f.String("issuer", "", "the iss claim; none where empty")
	audience := f.String("audience", "", "the aud claim; none where empty")
	if rest, err := f.parse(args); err != nil {
		return err
	} else if len(rest) > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, rest[0])
	}
	secret, ok, err := f.secret(jwtSecretVariable)
	if err == nil && !ok {
		err = errors.New("it is not set")
	}
	if err != nil {
		return fmt.Errorf("%w: set %s, or %s_FILE to a file that holds it (%w)", errUsage, jwtSecretVariable, jwtSecretVariable, err)
	}
	token, err := signToken([]byte(secret), *user, *scope, *ttl, *issuer, *audience)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	_, err = fmt.Fprintln(env.stdout, token)
	return err
}

func signToken(secret []byte, user, scope string, ttl time.Duration, issuer, audience string) (string, error) {
	issued := time.Now()
	claims := auth.Claims{
		UserID: user, IssuedAt: issued, ExpiresAt: issued.Add(ttl), Issuer: issuer, Audience: audience,
	}
	for s := range strings.FieldsSeq(scope) {
		claims.Scopes = append(claims.Scopes, inbox.Scope(s))
	}
	return auth.Sign(secret, claims)
}

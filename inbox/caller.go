package inbox

import (
	"context"
	"slices"
	"time"
)

// Scope is a permission that a token carries beyond its user's own inbox.
type Scope string

// The scopes. None implies another.
const (
	// ScopeDispatch lets a producer dispatch events to any user.
	ScopeDispatch Scope = "dispatch"
	// ScopeRead lets a caller read every user's inbox.
	ScopeRead Scope = "read"
	// ScopeAdmin lets a caller write accounts and the other data that travels with a user.
	ScopeAdmin Scope = "admin"
)

// Caller is who a request comes from, as its bearer token says.
type Caller struct {
	// UserID is the token's subject.
	UserID string
	// Scopes holds what the token allows beyond the user's own inbox.
	Scopes []Scope
	// ExpiresAt is when the token ends.
	ExpiresAt time.Time
}

// Has reports whether the caller's token carries the scope.
func (c Caller) Has(scope Scope) bool { return slices.Contains(c.Scopes, scope) }

// MayRead reports whether the caller may read the user's inbox: its own, or anyone's with
// ScopeRead.
func (c Caller) MayRead(userID string) bool { return c.UserID == userID || c.Has(ScopeRead) }

type callerKey struct{}

type callerValue struct {
	caller Caller
	err    error
}

// WithCaller returns a context that carries the outcome of authentication: a caller, or the error
// that says why there is none.
func WithCaller(ctx context.Context, caller Caller, err error) context.Context {
	return context.WithValue(ctx, callerKey{}, callerValue{caller, err})
}

// CallerFrom returns the caller that the context carries, or an Unauthenticated error.
func CallerFrom(ctx context.Context) (Caller, error) {
	v, ok := ctx.Value(callerKey{}).(callerValue)
	if !ok {
		return Caller{}, Errorf(Unauthenticated, "authentication required")
	}
	return v.caller, v.err
}

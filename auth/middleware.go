package auth

import (
	"context"
	"net/http"
	"strings"

	"belfry/inbox"
)

// Middleware verifies the token in "Authorization: Bearer" (RFC 6750, section 2.1) and puts the
// outcome into the request's context, where inbox.CallerFrom finds it. It stops no request: without
// a token, or with a bad one, the context carries the error and what needs a caller answers with it.
func (v *Verifier) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := v.fromHeader(r.Context(), r.Header)
		next.ServeHTTP(w, r.WithContext(inbox.WithCaller(r.Context(), caller, err)))
	})
}

func (v *Verifier) fromHeader(ctx context.Context, header http.Header) (inbox.Caller, error) {
	values := header.Values("Authorization")
	switch len(values) {
	case 0:
		return inbox.Caller{}, refuse("authentication required")
	case 1:
		return v.fromAuthorization(ctx, values[0])
	default:
		// A proxy in front may have looked at another one than we would.
		return inbox.Caller{}, refuse("more than one Authorization header")
	}
}

func (v *Verifier) fromAuthorization(ctx context.Context, value string) (inbox.Caller, error) {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return inbox.Caller{}, refuse("authorization scheme is not Bearer")
	}
	return v.Verify(ctx, strings.TrimLeft(token, " "))
}

package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
	"belfry/render"
)

// MarshalURL writes a URL as it is stored.
func MarshalURL(s string) graphql.Marshaler { return graphql.MarshalString(s) }

// AppendURL appends what MarshalURL writes.
func AppendURL(b []byte, s string) []byte { return render.AppendString(b, s) }

// UnmarshalURL reads any string. Which URLs are taken is a rule of package inbox, so that a bad one
// is a user error with its field and not a failed request.
func UnmarshalURL(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", inbox.Errorf(inbox.BadUserInput, "a URL is a string")
	}
	return s, nil
}

package scalar

import (
	"io"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
)

// MarshalDateTime writes an instant in UTC with six fractional digits: gqlgen's own Time drops
// trailing zeros, which gives cursors and clients a text of varying width.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		var buf [len(inbox.TimeLayout) + 2]byte
		_, _ = w.Write(AppendDateTime(buf[:0], t))
	})
}

// AppendDateTime appends what MarshalDateTime writes.
func AppendDateTime(b []byte, t time.Time) []byte {
	return append(inbox.AppendTime(append(b, '"'), t), '"')
}

// UnmarshalDateTime reads RFC 3339 with any offset and cuts it to microseconds.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, inbox.Errorf(inbox.BadUserInput, "a DateTime is a string in RFC 3339")
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, inbox.Errorf(inbox.BadUserInput, "a DateTime is RFC 3339, such as 2026-11-30T17:34:47.517975Z")
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

package scalar

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
)

// MarshalJSON writes a value as it is stored.
func MarshalJSON(v json.RawMessage) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(v) })
}

// AppendJSON appends what MarshalJSON writes.
func AppendJSON(b []byte, v json.RawMessage) []byte { return append(b, v...) }

// UnmarshalJSON encodes what the GraphQL engine has decoded. Members come out in the order of their
// names, so that two requests that differ in that order alone have the same content. Characters that
// are special in HTML stay as they are.
func UnmarshalJSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, inbox.Wrap(inbox.BadUserInput, err, "not a JSON value")
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

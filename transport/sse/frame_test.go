package sse

import (
	"bytes"
	"testing"

	"github.com/99designs/gqlgen/graphql"
)

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct{ data, want string }{
		{`{"a":1}`, "event: next\ndata: {\"data\":{\"a\":1}}\n\n"},
		{"{\n\"a\":\r\n1}", "event: next\ndata: {\"data\":{\ndata: \"a\":\ndata: \ndata: 1}}\n\n"},
	}
	for _, tt := range tests {
		if got := string(next(&graphql.Response{Data: []byte(tt.data)})); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.data, got, tt.want)
		}
	}
}

// The engine writes the next result over the last one.
func TestNextCopies(t *testing.T) {
	t.Parallel()
	data := []byte(`{"a":1}`)
	frame := next(&graphql.Response{Data: data})
	copy(data, `{"b":2}`)
	if !bytes.Contains(frame, []byte(`{"a":1}`)) {
		t.Errorf("got %s", frame)
	}
}

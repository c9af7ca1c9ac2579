package sse

import (
	"bytes"

	"github.com/99designs/gqlgen/graphql"

	gqlhttp "belfry/transport/http"
)

var (
	// keepAlive is a comment, which clients pass over.
	keepAlive = []byte(":\n\n")
	// complete has a line of data, without which an EventSource passes over an event.
	complete = []byte("event: complete\ndata:\n\n")

	dataPrefix = []byte("\ndata: ")
)

// next returns the frame of one result. It copies the result: the engine uses its buffer again.
func next(response *graphql.Response) []byte {
	frame := make([]byte, 0, len(response.Data)+64)
	frame = append(frame, "event: next\ndata: "...)
	start := len(frame)
	frame = gqlhttp.AppendResponse(frame, response)
	// A line of the stream ends at a line break, which JSON may have between its tokens.
	if body := frame[start:]; bytes.ContainsAny(body, "\r\n") {
		frame = append(frame[:start], splitLines(body)...)
	}
	return append(frame, '\n', '\n')
}

// splitLines makes each line of a text a line of data. The client puts line breaks between them again.
func splitLines(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte{'\r'}, []byte{'\n'})
	return bytes.ReplaceAll(text, []byte{'\n'}, dataPrefix)
}

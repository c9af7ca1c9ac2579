package http

import (
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
)

// AppendResponse appends a response as JSON. Its data is JSON already and is copied as it is: encoding the
// whole would read it twice more. The errors come first, as the specification suggests (section 7.1.1),
// and a response without data says nothing of data: nothing was executed.
func AppendResponse(dst []byte, response *graphql.Response) []byte {
	dst = append(dst, '{')
	if len(response.Errors) > 0 {
		dst = appendMember(dst, "errors", response.Errors)
	}
	if len(response.Data) > 0 {
		dst = appendName(dst, "data")
		dst = append(dst, response.Data...)
	}
	if len(response.Extensions) > 0 {
		dst = appendMember(dst, "extensions", response.Extensions)
	}
	return append(dst, '}')
}

func appendMember(dst []byte, name string, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		// A programming error: something in an error's extensions that has no JSON.
		panic(err)
	}
	return append(appendName(dst, name), text...)
}

func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

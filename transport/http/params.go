package http

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
)

// allMethods is what Allow says about /graphql.
const allMethods = "OPTIONS, GET, POST"

// readParams reads the parameters of a GraphQL request. Its errors are *Refusal.
func readParams(r *http.Request) (*graphql.RawParams, error) {
	params := &graphql.RawParams{Headers: r.Header}
	params.ReadTime.Start = graphql.Now()
	var err error
	switch r.Method {
	case http.MethodGet:
		err = readURL(params, r)
	case http.MethodPost:
		err = readBody(params, r)
	default:
		err = refuseMethod(allMethods, "GraphQL is spoken by POST and GET")
	}
	if err != nil {
		return nil, err
	}
	params.ReadTime.End = graphql.Now()
	return params, nil
}

func readURL(params *graphql.RawParams, r *http.Request) error {
	if isForged(r) {
		return refuse(http.StatusForbidden,
			"a GET that a page of another origin may have caused: send the header GraphQL-Require-Preflight: 1")
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query string is malformed")
	}
	for name, values := range values {
		if !isParameter(name) {
			continue
		}
		if len(values) > 1 {
			return repeated(name)
		}
		text := values[0]
		switch name {
		case "query":
			params.Query = text
		case "operationName":
			params.OperationName = text
		case "variables":
			params.Variables, err = readObject(name, text)
		case "extensions":
			params.Extensions, err = readObject(name, text)
		}
		if err != nil {
			return err
		}
	}
	if !values.Has("query") {
		return queryMissing()
	}
	return nil
}

// readObject reads a parameter that is JSON within a URL. An empty one counts as absent.
func readObject(name, text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	value := []byte(strings.TrimLeft(text, jsonSpace))
	var object map[string]any
	if !json.Valid(value) || decode(value, &object) != nil {
		return nil, wrongKind("a JSON object", name)
	}
	return object, nil
}

func readBody(params *graphql.RawParams, r *http.Request) error {
	if !isJSON(r.Header) {
		return refuse(http.StatusUnsupportedMediaType, "a POST must have the Content-Type application/json, in UTF-8")
	}
	body, err := bytesOf(r.Body)
	if err != nil {
		return refuse(http.StatusBadRequest, "the request body could not be read")
	}
	// The decoder would put replacement characters into what is then stored.
	if !utf8.Valid(body) {
		return refuse(http.StatusBadRequest, "the request body is not UTF-8")
	}
	switch start := bytes.TrimLeft(body, jsonSpace); {
	case len(start) > 0 && start[0] == '[':
		return refuse(http.StatusBadRequest, "batches are not taken: send one operation a request")
	case !json.Valid(body):
		return invalidBody(body)
	case start[0] != '{':
		return wrongKind("a JSON object", "the request body")
	}
	return readMembers(params, body)
}

// invalidBody says what is wrong with a body that is not one JSON value.
func invalidBody(body []byte) error {
	if json.NewDecoder(bytes.NewReader(body)).Decode(new(json.RawMessage)) == nil {
		return refuse(http.StatusBadRequest, "something follows the JSON object in the request body")
	}
	return notJSON()
}

// bytesOf returns a body as a whole. One that was read already has it.
func bytesOf(body io.Reader) ([]byte, error) {
	if b, ok := body.(interface{ Bytes() []byte }); ok {
		return b.Bytes(), nil
	}
	return io.ReadAll(body)
}

// isJSON reports whether a body is declared as JSON in UTF-8.
func isJSON(header http.Header) bool {
	mediaType, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, hasCharset := params["charset"]
	return err == nil && mediaType == JSON && (!hasCharset || strings.EqualFold(charset, "utf-8"))
}

// readMembers reads the members of a JSON object. Decoding into a struct would take "Query" for "query", and the
// last of two.
func readMembers(params *graphql.RawParams, object []byte) error {
	seen := make([]string, 0, 4) // one for each parameter
	var query *string
	for name, value := range members(object) {
		switch {
		case !isParameter(name):
			continue // the specification keeps the other names for later and has them ignored
		case slices.Contains(seen, name):
			return repeated(name)
		}
		seen = append(seen, name)
		if decode(value, target(params, &query, name)) != nil {
			return wrongKind(kindOf(name), name)
		}
	}
	if query == nil {
		return queryMissing()
	}
	params.Query = *query
	return nil
}

// decode decodes a JSON value whose numbers keep their digits.
func decode(value []byte, into any) error {
	if value[0] != '{' {
		return json.Unmarshal(value, into) // no number in it, or not what is wanted
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	return dec.Decode(into)
}

// target returns where a parameter goes. A null leaves it as it is.
func target(params *graphql.RawParams, query **string, name string) any {
	switch name {
	case "query":
		return query
	case "operationName":
		return &params.OperationName
	case "variables":
		return &params.Variables
	}
	return &params.Extensions
}

func kindOf(name string) string {
	if name == "query" || name == "operationName" {
		return "a string"
	}
	return "a JSON object"
}

func isParameter(name string) bool {
	switch name {
	case "query", "operationName", "variables", "extensions":
		return true
	}
	return false
}

func notJSON() error { return refuse(http.StatusBadRequest, "the request body is not JSON") }

func queryMissing() error { return refuse(http.StatusBadRequest, "query is missing") }

func wrongKind(kind, name string) error { return refuse(http.StatusBadRequest, name+" is not "+kind) }

func repeated(name string) error {
	return refuse(http.StatusBadRequest, name+" is there more than once")
}

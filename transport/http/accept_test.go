package http_test

import (
	"net/http"
	"testing"

	gqlhttp "belfry/transport/http"
)

func TestAccept(t *testing.T) {
	t.Parallel()
	const json, response = gqlhttp.JSON, gqlhttp.ResponseJSON
	tests := []struct {
		accept []string
		want   string
		stream float64
	}{
		{nil, json, 1},
		{[]string{""}, json, 1},
		{[]string{" , "}, json, 1},
		{[]string{"*/*"}, json, 1},
		{[]string{"application/*;q=0.5, text/*;q=0.25"}, json, 0.25},
		{[]string{apollo}, response, 0},
		{[]string{urql}, response, 1},
		{[]string{"text/event-stream"}, "", 1},
		{[]string{"application/json, text/plain, */*"}, json, 1}, // axios
		{[]string{"application/graphql-response+json, */*"}, response, 1},
		{[]string{"application/json;q=0.9, application/graphql-response+json;q=0.8"}, json, 0},
		{[]string{"application/json;q=0.8", "application/graphql-response+json;q=0.9"}, response, 0},
		{[]string{"application/json;q=0, */*"}, response, 1},
		{[]string{"APPLICATION/JSON ; Q=0.5"}, json, 0},
		{[]string{"application/json; charset=utf-8; q=0.5"}, json, 0},
		{[]string{"application/json;q=1.5"}, "", 0},
		{[]string{"application/json;q=-1"}, "", 0},
		{[]string{"application/json;q=NaN"}, "", 0},
		{[]string{"application/json;q="}, "", 0},
		{[]string{"json"}, "", 0},
		{[]string{"text/event-stream;q=0.7, text/event-stream;q=0.3, */*;q=0.9"}, json, 0.7},
	}
	for _, tt := range tests {
		a := gqlhttp.ParseAccept(http.Header{"Accept": tt.accept})
		if got := a.JSON(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.accept, got, tt.want)
		}
		if got, _ := a.Quality("text/event-stream"); got != tt.stream {
			t.Errorf("%q: event stream: got %v, want %v", tt.accept, got, tt.stream)
		}
	}
}

package http_test

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	gqlhttp "belfry/transport/http"
)

func TestAppendResponse(t *testing.T) {
	t.Parallel()
	errs := gqlerror.List{{Message: "no"}}
	extensions := map[string]any{"cost": 3}
	tests := []struct {
		response graphql.Response
		want     string
	}{
		{graphql.Response{Data: []byte(`{"a": 1}`)}, `{"data":{"a": 1}}`},
		{graphql.Response{Data: []byte(`null`), Errors: errs}, `{"errors":[{"message":"no"}],"data":null}`},
		{graphql.Response{Errors: errs}, `{"errors":[{"message":"no"}]}`},
		{graphql.Response{Errors: errs, Extensions: extensions}, `{"errors":[{"message":"no"}],"extensions":{"cost":3}}`},
		{graphql.Response{Data: []byte(`{}`), Extensions: extensions}, `{"data":{},"extensions":{"cost":3}}`},
	}
	for _, tt := range tests {
		if got, want := string(gqlhttp.AppendResponse([]byte("x"), &tt.response)), "x"+tt.want; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

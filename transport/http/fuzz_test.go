package http_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Whatever a body holds, the answer is JSON with data or errors, and its status is one of two.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		good, broken, partial, subscription, missing, `[]`, `{"query":"{ __typename }","variables":{"a":[1e999]}}`,
		`{"query":"query ($u: String!) { user(userId: $u) { userId } }","variables":{"u":"\ud800"}}`,
	} {
		f.Add(body)
	}
	h := newHandler(f)
	f.Fuzz(func(t *testing.T, body string) {
		rec := post(h, body)
		if rec.Code != http.StatusOK && rec.Code != http.StatusBadRequest {
			t.Errorf("got %d", rec.Code)
		}
		got := rec.Body.String()
		if !json.Valid(rec.Body.Bytes()) || !strings.HasPrefix(got, `{"errors":[`) && !strings.HasPrefix(got, `{"data":`) {
			t.Errorf("got %s", got)
		}
	})
}

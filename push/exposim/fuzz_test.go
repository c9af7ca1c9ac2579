package exposim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"belfry/push/exposim"
)

// Whatever the request, there is an answer, and one of JSON.
func FuzzSend(f *testing.F) {
	for _, body := range []string{many(2), to("a-unregistered"), to("b-short"), `{"to":[]}`, `[{"to":"ExponentPushToken[\"\\]"}]`, `[null]`, ``} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, word := range []string{"reset", "cut", "slow", "html", "garbage", "empty", "errors", "413", "50"} {
			if bytes.Contains(body, []byte(word)) {
				return
			}
		}
		for _, path := range []string{sendPath, receiptsPath} {
			status, text := post(t, exposim.New(exposim.Config{}), path, string(body))
			if !json.Valid([]byte(text)) || (status == http.StatusOK) != strings.HasPrefix(text, `{"data":`) {
				t.Errorf("HTTP %d: %s", status, text)
			}
		}
	})
}

package expo_test

import (
	"testing"
	"unicode/utf8"

	"belfry/push"
	"belfry/push/expo"
)

// bodies are where the fuzzers begin.
var bodies = []string{
	`{"data":[{"status":"ok","id":"1"},{"status":"error","message":"m","details":{"error":"DeviceNotRegistered","expoPushToken":"ExponentPushToken[device1]"}}]}`,
	`{"data":{"a":{"status":"ok"},"b":{"status":"error","details":{"error":"ProviderError","fault":"fcm","fcm":{"error":"X"}}}}}`,
	`{"data":{"status":"ok"}}`, `{"errors":[{"code":"PUSH_TOO_MANY_EXPERIENCE_IDS","details":{"@a/x":["ExponentPushToken[device0]"],"@a/y":[]}}]}`,
	`{"error":"invalid_token"}`, `{"data":[null,1]}`, `{"data":{"a":null}}`, htmlPage, tooMany, ``, `null`, `[]`, "{\"data\":[\"\xff\\u0000\"]}",
}

// isStorable reports whether Postgres can hold what a result says.
func isStorable(texts ...string) bool {
	for _, s := range texts {
		for _, r := range s {
			if r == 0 {
				return false
			}
		}
		if !utf8.ValidString(s) || len(s) > 1000 {
			return false
		}
	}
	return true
}

// Whatever the answer, there is a result for each message, and one that can be written down.
func FuzzSend(f *testing.F) {
	for _, body := range bodies {
		for _, status := range []int{200, 400, 500} {
			f.Add(status, 2, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, status, n int, body []byte) {
		if status < 200 || status > 999 || status == 304 || n < 0 || n > 7 {
			return
		}
		client := expo.New(expo.Config{Limit: -1, Transport: direct{answer(status, string(body))}})
		results := client.Send(t.Context(), messages(n))
		if len(results) != n {
			t.Fatalf("%d results of %d messages", len(results), n)
		}
		for _, r := range results {
			if r.Verdict == push.Sent && (status != 200 || r.Error != "") || r.Verdict != push.Sent && r.Error == "" ||
				r.Verdict == push.Requeued && r.RetryAfter <= 0 || !isStorable(r.Ticket, r.Error, r.Detail) {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Whatever the answer, there are receipts for none but those that were asked for.
func FuzzReceipts(f *testing.F) {
	for _, body := range bodies {
		for _, status := range []int{200, 400, 500} {
			f.Add(status, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 999 || status == 304 {
			return
		}
		client := expo.New(expo.Config{Transport: direct{answer(status, string(body))}})
		receipts, err := client.Receipts(t.Context(), []string{"a", "b"})
		if err != nil && len(receipts) > 0 || status != 200 && err == nil {
			t.Errorf("error %v with %v", err, receipts)
		}
		for id, r := range receipts {
			if id != "a" && id != "b" || r.Delivered != (r.Error == "") || !isStorable(r.Error, r.Detail) {
				t.Errorf("%q: %+v", id, r)
			}
		}
	})
}

package expo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/exposim"
)

// Receipts as documented and as seen in the wild.
func TestReceipts(t *testing.T) {
	t.Parallel()
	failed := func(code string) *push.Receipt { return &push.Receipt{Error: code} }
	tests := []struct {
		name, receipt string
		want          *push.Receipt // nil for none
	}{
		{"ok", `{"status":"ok"}`, &push.Receipt{Delivered: true}},
		{"ok with more", `{"status":"ok","details":{},"__debug":{"x":1}}`, &push.Receipt{Delivered: true}},
		{"not registered", `{"status":"error","message":"m","details":{"error":"DeviceNotRegistered"}}`, &push.Receipt{Error: "DeviceNotRegistered", DisableDevice: true}},
		{"too big", `{"status":"error","details":{"error":"MessageTooBig"}}`, failed("MessageTooBig")},
		{"rate", `{"status":"error","details":{"error":"MessageRateExceeded"}}`, failed("MessageRateExceeded")},
		{"sender id", `{"status":"error","details":{"error":"MismatchSenderId"}}`, failed("MismatchSenderId")},
		{"credentials", `{"status":"error","details":{"error":"InvalidCredentials"}}`, failed("InvalidCredentials")},
		{"developer", `{"status":"error","details":{"error":"DeveloperError"}}`, failed("DeveloperError")},
		{"Expo", `{"status":"error","details":{"error":"ExpoError"}}`, failed("ExpoError")},
		{"FCM", `{"status":"error","message":"There was an unknown error with the FCM server…","details":{"error":"ProviderError","fault":"fcm","fcm":{"error":"MismatchSenderId"}}}`, failed("ProviderError")},
		{"Apple", `{"status":"error","message":"The Apple Push Notification service unexpectedly dropped the connection. Retry sending the notification later.…","messageEnum":1004,"messageParamValues":[],"details":{"error":"ProviderError","errorCodeEnum":1,"sentAt":1749587690},"__debug":{"internalError":"…"}}`, failed("ProviderError")},
		{"unknown code", `{"status":"error","details":{"error":"FullMoon"}}`, failed("FullMoon")},
		{"no code", `{"status":"error","message":"m"}`, failed("no_code")},
		{"details of another type", `{"status":"error","details":[]}`, failed("no_code")},
		{"unknown status", `{"status":"pondering"}`, nil},
		{"no status", `{}`, nil},
		{"null", `null`, nil},
		{"text", `"ok"`, nil},
		{"array", `[]`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, _ := serve(t, answer(200, `{"data":{"a":`+tt.receipt+`,"not asked for":{"status":"ok"}}}`))
			got, err := client.Receipts(t.Context(), []string{"a", "b"})
			want := map[string]push.Receipt{}
			if tt.want != nil {
				want["a"] = *tt.want
			}
			if r := got["a"]; r.Error != "" {
				if r.Detail != tt.receipt {
					t.Errorf("detail %q", r.Detail)
				}
				r.Detail = ""
				got["a"] = r
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, receipts (-want +got):\n%s", err, diff)
			}
		})
	}
}

// An answer that is no map of receipts says nothing about any of them.
func TestReceiptsWhole(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"array", 200, `{"data":[{"status":"ok"}]}`, "bad_response"},
		{"null", 200, `{"data":null}`, "no data"},
		{"no data", 200, `{}`, "no data"},
		{"HTML", 200, htmlPage, "bad_response"},
		{"empty", 200, ``, "bad_response"},
		{"half", 200, `{"data":{"a":{"status":"ok"}`, "bad_response"},
		{"too long", 200, `{"data":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, "too long"},
		{"errors", 200, internalError, "HTTP 200: INTERNAL_SERVER_ERROR"},
		{"too many", 400, `{"errors":[{"code":"PUSH_TOO_MANY_RECEIPTS","message":"m"}]}`, "HTTP 400: PUSH_TOO_MANY_RECEIPTS"},
		{"429", 429, tooMany, "HTTP 429: TOO_MANY_REQUESTS"},
		{"401", 401, `{"error":"invalid_token","error_description":"The bearer token is invalid"}`, "HTTP 401: invalid_token"},
		{"500", 500, internalError, "HTTP 500: INTERNAL_SERVER_ERROR"},
		{"504", 504, htmlPage, "HTTP 504: http_504"},
		{"404", 404, `{}`, "HTTP 404: http_404"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, _ := serve(t, answer(tt.status, tt.body))
			got, err := client.Receipts(t.Context(), []string{"a"})
			if len(got) != 0 || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "expo receipts: ") {
				t.Errorf("got %v, error %v, want one with %q", got, err, tt.want)
			}
		})
	}
}

// Requests are of 300 ids, as those of Expo's own SDK; what came before an error is kept.
func TestReceiptsChunks(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{})
	client, rec := serve(t, sim)
	var tickets []string
	for _, r := range client.Send(t.Context(), messages(601)) {
		tickets = append(tickets, r.Ticket)
	}
	before := len(rec.requests())
	got, err := client.Receipts(t.Context(), tickets)
	if len(got) != 601 || err != nil {
		t.Errorf("%d receipts, error %v", len(got), err)
	}
	var sizes []int
	for _, r := range rec.requests()[before:] {
		sizes = append(sizes, strings.Count(string(r.body), "-")/4)
	}
	if diff := cmp.Diff([]int{300, 300, 1}, sizes); diff != "" {
		t.Errorf("ids a request (-want +got):\n%s", diff)
	}
	sim.FailReceipts(exposim.None, exposim.GatewayTimeout)
	if got, err := client.Receipts(t.Context(), tickets); len(got) != 300 || err == nil {
		t.Errorf("%d receipts, error %v", len(got), err)
	}
	if got, err := client.Receipts(t.Context(), nil); got == nil || len(got) != 0 || err != nil {
		t.Errorf("none asked for: %v, error %v", got, err)
	}
}

// From ticket to receipt: each word of the simulator, as the ledger will have it.
func TestSimulatedOutcomes(t *testing.T) {
	t.Parallel()
	const big = "big body"
	tests := []struct{ word, ticket, receipt string }{
		{"", "sent", "delivered"},
		{"unregistered", "failed DeviceNotRegistered, disabled", ""},
		{"refused", "failed FullMoon", ""},
		{"codeless", "failed no_code", ""},
		{"exceeded", "requeued MessageRateExceeded", ""},
		{"status", "failed unknown_status", ""},
		{"noid", "sent", ""},
		{"gone", "sent", "DeviceNotRegistered, disabled"},
		{"big", "sent", "MessageTooBig"},
		{"rate", "sent", "MessageRateExceeded"},
		{"mismatch", "sent", "MismatchSenderId"},
		{"credentials", "sent", "InvalidCredentials"},
		{"developer", "sent", "DeveloperError"},
		{"expo", "sent", "ExpoError"},
		{"fcm", "sent", "ProviderError"},
		{"apns", "sent", "ProviderError"},
		{"strange", "sent", "FullMoon"},
		{"lost", "sent", ""},
		{big, "sent", "delivered"}, // our client shortens it
	}
	sim := exposim.New(exposim.Config{ReceiptDelay: 15 * time.Minute})
	client, _ := serve(t, sim)
	var list []push.Message
	var tickets []string
	for _, tt := range tests {
		m := message("device-" + tt.word)
		if tt.word == big {
			m.Body = strings.Repeat("😀", 1024)
		}
		list = append(list, m)
	}
	results := client.Send(t.Context(), list)
	for i, tt := range tests {
		if got := describe(results[i].Verdict, results[i].Error, results[i].DisableDevice); got != tt.ticket {
			t.Errorf("%s: ticket %s, want %s", tt.word, got, tt.ticket)
		}
		if results[i].Ticket != "" {
			tickets = append(tickets, results[i].Ticket)
		}
	}
	if got, err := client.Receipts(t.Context(), tickets); len(got) != 0 || err != nil {
		t.Errorf("receipts before their time: %v, error %v", got, err)
	}
	sim.Advance(15 * time.Minute)
	receipts, err := client.Receipts(t.Context(), tickets)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		r, ok := receipts[results[i].Ticket]
		got := describe(push.Delivered, r.Error, r.DisableDevice)
		if r.Error != "" {
			got = strings.TrimPrefix(got, "delivered ")
		}
		if !ok {
			got = ""
		}
		if got != tt.receipt || ok && r.Delivered != (r.Error == "") {
			t.Errorf("%s: receipt %q, want %q", tt.word, got, tt.receipt)
		}
	}
	sim.Advance(24 * time.Hour)
	if got, err := client.Receipts(t.Context(), tickets); len(got) != 0 || err != nil {
		t.Errorf("receipts after their time: %v, error %v", got, err)
	}
}

func describe(verdict push.Verdict, code string, isDisabled bool) string {
	var text string
	for name := range count([]push.Result{{Verdict: verdict, Error: code}}) {
		text = name
	}
	if isDisabled {
		text += ", disabled"
	}
	return text
}

package expo_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/expo"
)

const (
	htmlPage = "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n</body>\r\n</html>\r\n"
	tooMany  = `{"errors":[{"code":"TOO_MANY_REQUESTS","message":"Exceeded 600 notifications per second, please try again."}]}`
	// internalError is as Expo writes it, with all the fields that were seen.
	internalError = `{"errors":[{"code":"INTERNAL_SERVER_ERROR","message":"An unknown error occurred.","isTransient":true,"requestId":"5d9e","details":{},"stack":"Error\n    at x"}]}`
)

// Answers to a request as a whole, as they were seen in the wild.
func TestSendWhole(t *testing.T) {
	t.Parallel()
	failed := func(code string) push.Result { return push.Result{Verdict: push.Failed, Error: code} }
	tests := []struct {
		name     string
		status   int
		body     string
		want     push.Result
		requests int
	}{
		{"429", 429, tooMany, push.Result{Verdict: push.Requeued, Error: "TOO_MANY_REQUESTS", RetryAfter: time.Second}, 1},
		{"429 of a proxy", 429, htmlPage, push.Result{Verdict: push.Requeued, Error: "http_429", RetryAfter: time.Second}, 1},
		{"401", 401, `{"error":"invalid_token","error_description":"The bearer token is invalid"}`, failed("invalid_token"), 1},
		{"401 without a body", 401, ``, failed("http_401"), 1},
		{"403", 403, `{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}`, failed("UNAUTHORIZED"), 1},
		{"400 unauthorized", 400, `{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}`, failed("UNAUTHORIZED"), 1},
		{"404", 404, `not found`, failed("http_404"), 1},
		{"307", 307, ``, failed("http_307"), 1},
		{"204", 204, ``, failed("http_204"), 1},
		{"500", 500, internalError, failed("INTERNAL_SERVER_ERROR"), 1},
		{"502 HTML", 502, htmlPage, failed("http_502"), 1},
		{"503 HTML", 503, htmlPage, failed("http_503"), 1},
		{"504 HTML", 504, htmlPage, failed("http_504"), 1},
		{"503 with a code of 429", 503, tooMany, failed("TOO_MANY_REQUESTS"), 1},
		{"200 HTML", 200, htmlPage, failed("bad_response"), 1},
		{"200 errors", 200, internalError, failed("INTERNAL_SERVER_ERROR"), 1},
		{"200 errors that could be retried", 200, tooMany, failed("TOO_MANY_REQUESTS"), 1},
		{"200 errors and data", 200, `{"data":[{"status":"ok","id":"1"},{"status":"ok","id":"2"}],"errors":[{"code":"X"}]}`, failed("X"), 1},
		{"200 errors without a code", 200, `{"errors":[{"message":"You can send a maximum of 100 notifications per request (received 115); divide your requests."}]}`, failed("no_code"), 1},
		{"200 errors of another type", 200, `{"errors":"oops"}`, failed("no_code"), 1},
		{"200 a code of another type", 200, `{"errors":[{"code":7}]}`, failed("no_code"), 1},
		{"empty", 200, ``, failed("bad_response"), 1},
		{"half", 200, `{"data":[{"status":"ok","id":"0`, failed("bad_response"), 1},
		{"no data", 200, `{}`, failed("bad_response"), 1},
		{"data null", 200, `{"data":null}`, failed("bad_response"), 1},
		{"data a map", 200, `{"data":{"0":{"status":"ok"}}}`, failed("bad_response"), 1},
		{"an array", 200, `[{"status":"ok","id":"1"},{"status":"ok","id":"2"}]`, failed("bad_response"), 1},
		{"one too few", 200, `{"data":[{"status":"ok","id":"1"}]}`, failed("ticket_mismatch"), 1},
		{"one too many", 200, `{"data":[{"status":"ok"},{"status":"ok"},{"status":"ok"}]}`, failed("ticket_mismatch"), 1},
		{"none", 200, `{"data":[]}`, failed("ticket_mismatch"), 1},
		{"longer than is read", 200, `{"data":["` + strings.Repeat("x", 1<<20) + `"]}`, failed("bad_response"), 1},
		{"400 of both, then of each", 400, `{"errors":[{"code":"VALIDATION_ERROR","message":"m"}]}`, failed("VALIDATION_ERROR"), 3},
		{"400 HTML", 400, htmlPage, failed("http_400"), 3},
		{"413", 413, htmlPage, failed("http_413"), 3},
		{"too many for Expo", 400, `{"errors":[{"code":"PUSH_TOO_MANY_NOTIFICATIONS","message":"m"}]}`, failed("PUSH_TOO_MANY_NOTIFICATIONS"), 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, rec := serve(t, answer(tt.status, tt.body))
			results := client.Send(t.Context(), messages(2))
			for i, got := range results {
				if head := tt.body[:min(len(tt.body), 20)]; !strings.HasPrefix(got.Detail, head) || len(got.Detail) > 1000 {
					t.Errorf("detail %q, want one that begins with %q", got.Detail, head)
				}
				got.Detail = ""
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("result %d (-want +got):\n%s", i, diff)
				}
			}
			if got := len(rec.requests()); got != tt.requests || len(results) != 2 {
				t.Errorf("%d requests, want %d; %d results", got, tt.requests, len(results))
			}
		})
	}
}

// Tickets, one message each.
func TestSendTickets(t *testing.T) {
	t.Parallel()
	const itself, other = `ExponentPushToken[device0]`, `ExponentPushToken[other]`
	failed := func(code string, disable bool) push.Result {
		return push.Result{Verdict: push.Failed, Error: code, DisableDevice: disable}
	}
	tests := []struct {
		name, ticket string
		want         push.Result
	}{
		{"ok", `{"status":"ok","id":"01975b8d-8352-7beb-a3f0-ca195f91842c"}`, push.Result{Ticket: "01975b8d-8352-7beb-a3f0-ca195f91842c"}},
		{"ok without an id", `{"status":"ok"}`, push.Result{}},
		{"ok with an id that is none", `{"status":"ok","id":17}`, push.Result{}},
		{"ok with an id that nothing can hold", `{"status":"ok","id":"` + strings.Repeat("x", 256) + `"}`, push.Result{}},
		{"ok with more", `{"status":"ok","id":"1","details":[],"__debug":{}}`, push.Result{Ticket: "1"}},
		{"not registered", `{"status":"error","message":"\"` + itself + `\" is not a registered push notification recipient","details":{"error":"DeviceNotRegistered","expoPushToken":"` + itself + `"}}`, failed("DeviceNotRegistered", true)},
		{"not registered, as documented", `{"status":"error","message":"m","details":{"error":"DeviceNotRegistered"}}`, failed("DeviceNotRegistered", true)},
		{"not registered, but of another", `{"status":"error","message":"m","details":{"error":"DeviceNotRegistered","expoPushToken":"` + other + `"}}`, failed("DeviceNotRegistered", false)},
		{"rate exceeded", `{"status":"error","details":{"error":"MessageRateExceeded"}}`, push.Result{Verdict: push.Requeued, Error: "MessageRateExceeded", RetryAfter: time.Minute}},
		{"too big", `{"status":"error","details":{"error":"MessageTooBig"}}`, failed("MessageTooBig", false)},
		{"credentials", `{"status":"error","details":{"error":"InvalidCredentials"}}`, failed("InvalidCredentials", false)},
		{"sender id", `{"status":"error","details":{"error":"MismatchSenderId"}}`, failed("MismatchSenderId", false)},
		{"provider", `{"status":"error","details":{"error":"ProviderError","fault":"fcm"}}`, failed("ProviderError", false)},
		{"Expo", `{"status":"error","details":{"error":"ExpoError"}}`, failed("ExpoError", false)},
		{"developer", `{"status":"error","details":{"error":"DeveloperError"}}`, failed("DeveloperError", false)},
		{"unknown code", `{"status":"error","details":{"error":"Full Moon!"}}`, failed("Full Moon!", false)},
		{"no code", `{"status":"error","message":"m"}`, failed("no_code", false)},
		{"a code that is none", `{"status":"error","details":{"error":{}}}`, failed("no_code", false)},
		{"details that are none", `{"status":"error","details":"DeviceNotRegistered"}`, failed("no_code", false)},
		{"unknown status", `{"status":"pondering","id":"1"}`, failed("unknown_status", false)},
		{"no status", `{"id":"1"}`, failed("unknown_status", false)},
		{"null", `null`, failed("unknown_status", false)},
		{"text", `"ok"`, failed("unknown_status", false)},
		{"a NUL", `{"status":"error","details":{"error":"X\u0000Y"}}`, failed("XY", false)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{`{"data":[` + tt.ticket + `]}`, `{"data":` + tt.ticket + `}`} {
				if body[8] != '[' && body[8] != '{' {
					continue // one ticket alone is an object
				}
				client, _ := serve(t, answer(200, body))
				got := first(t, client.Send(t.Context(), messages(1)))
				if strings.Contains(got.Detail, "device0") || got.Verdict != push.Sent && got.Detail == "" {
					t.Errorf("detail %q", got.Detail)
				}
				got.Detail = ""
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("result of %s (-want +got):\n%s", body, diff)
				}
			}
		})
	}
}

// Expo's own example: each ticket belongs to the message at its place.
func TestSendOrder(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, answer(200, `{"data":[{"status":"ok","id":"a"},{"status":"error","details":{"error":"DeviceNotRegistered"}},{"status":"ok","id":"c"}]}`))
	results := client.Send(t.Context(), messages(3))
	results[1].Detail = ""
	want := []push.Result{{Ticket: "a"}, {Verdict: push.Failed, Error: "DeviceNotRegistered", DisableDevice: true}, {Ticket: "c"}}
	if diff := cmp.Diff(want, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// hijack ends a connection after it has written some bytes.
func hijack(t *testing.T, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte(text))
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset
		}
		_ = conn.Close()
	}
}

// What was cut off may have been taken; a 4xx says that it was not, even where the rest of it is missing.
func TestSendCutOff(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"no answer", "", "failed connection_lost"},
		{"half a header", "HTTP/1.1 200 OK\r\nContent-Le", "failed connection_lost"},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"data\":[", "failed connection_lost"},
		{"half a 504", "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 99\r\n\r\n<html>", "failed connection_lost"},
		{"half a 429", "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 99\r\nRetry-After: 7\r\n\r\n{", "requeued http_429"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "failed connection_lost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, rec := serve(t, hijack(t, tt.text))
			got := count(client.Send(t.Context(), messages(2)))
			if diff := cmp.Diff(map[string]int{tt.want: 2}, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if n := len(rec.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Where no connection came about, nothing was taken.
func TestSendNotConnected(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewUnstartedServer(answer(200, ""))
	plain.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	plain.Start()
	defer plain.Close()
	for name, base := range map[string]string{
		"refused": "http://" + closed, "no such host": "http://nowhere.invalid", "no URL": "http://[::1", "scheme": "gopher://x",
		"no TLS": strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		client := expo.New(expo.Config{BaseURL: base})
		got := first(t, client.Send(t.Context(), messages(1)))
		want := push.Result{Verdict: push.Requeued, Error: "not_connected", RetryAfter: 5 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		client.Close()
	}
}

// A log says what went wrong, and nothing of what was sent, whatever an answer echoes.
func TestSendLog(t *testing.T) {
	t.Parallel()
	secrets := []string{"device0", "secret title", "secret body", "secret access", "n-device0"}
	echo := fmt.Sprintf(`{"errors":[{"code":%q,"message":"%s"}]}`, token("device0"), "secret title")
	for _, body := range []string{echo, htmlPage, tooMany, `{"data":[{"status":"error","message":"secret title","details":{"error":"InvalidCredentials"}}]}`} {
		for _, status := range []int{200, 400, 401, 429, 500} {
			var log output
			client, _ := serve(t, answer(status, body), func(c *expo.Config) {
				c.AccessToken, c.Logger = "secret access", slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			client.Send(t.Context(), messages(1))
			_, err := client.Receipts(t.Context(), []string{"device0"})
			text := log.String() + fmt.Sprint(err)
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("status %d, %s: the log holds %q: %s", status, body, secret, text)
				}
			}
			if log.String() == "" {
				t.Errorf("status %d, %s: nothing was logged", status, body)
			}
		}
	}
}

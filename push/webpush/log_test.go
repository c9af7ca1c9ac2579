package webpush

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
)

// The operator hears once a Send of what no retry puts right, and nothing that is a user's.
func TestLog(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, func(w http.ResponseWriter, r *http.Request) {
		var code int
		if _, err := fmt.Sscanf(r.URL.Path, "/secret-path/%d", &code); err != nil || code == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(code)
	})
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 100}))
	var messages []push.Message
	for _, code := range []int{201, 403, 403, 404, 410, 413, 429, 500, 307, 0} {
		m := s.message(fmt.Sprintf("/secret-path/%d", code))
		m.Body, m.URL, m.Data = "secret-body", "https://secret-url.example", json.RawMessage(`"secret-data"`)
		messages = append(messages, m)
	}
	messages = append(messages, s.messageTo("https://secret-host.example/"), push.Message{Token: "secret-token"})
	results := newClient(t, cfg).Send(t.Context(), messages)

	type line struct {
		Level, Msg, Host, Error string
		Status, Messages        int
	}
	var got line
	if err := json.Unmarshal(log.Bytes(), &got); err != nil {
		t.Fatalf("not one line: %v: %s", err, log.String())
	}
	if diff := cmp.Diff(line{"ERROR", "web push refused", "127.0.0.1", "credentials_rejected", 403, 2}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	keys := s.browser.subscription("")
	secrets := []string{
		"secret", "Ada answered", cfg.PrivateKey, cfg.PublicKey,
		base64url.EncodeToString(keys.Auth), base64url.EncodeToString(keys.PublicKey.Bytes()),
	}
	// What goes to the ledger is held to the same.
	written := log.String() + fmt.Sprint(results)
	for _, secret := range secrets {
		if strings.Contains(written, secret) {
			t.Errorf("%s is in the log or a result: %s", secret, written)
		}
	}
}

func TestErrorsOfConnectionsHoldNoEndpoint(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, silence)
	cfg.Timeout = 100 * time.Millisecond
	got := newClient(t, cfg).Send(t.Context(), []push.Message{s.message("/secret-path")})
	cfg.RootCAs = nil
	got = append(got, newClient(t, cfg).Send(t.Context(), []push.Message{s.message("/secret-path")})...)
	for _, r := range got {
		if r.Detail == "" || strings.Contains(r.Detail, "secret-path") {
			t.Errorf("%s: got detail %q, want one without the endpoint", r.Error, r.Detail)
		}
	}
}

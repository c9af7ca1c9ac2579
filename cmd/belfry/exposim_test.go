package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

var expoSimLine = regexp.MustCompile(`answers at (http://\S+)\n`)

// The program answers as the package does, says where and how, and stops although a request never ends.
func TestExpoSim(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "expo-sim", "--listen", "127.0.0.1:0", "--expo-access-token", "sesame")
	base := p.waitFor(p.stdout, expoSimLine)
	if p.baseURL() != base {
		t.Errorf("it serves at %s, and says %s", p.baseURL(), base)
	}
	if !strings.Contains(p.stdout.String(), exposim.Table) {
		t.Errorf("stdout lacks the table: %s", p.stdout)
	}
	client := expo.New(expo.Config{BaseURL: base, AccessToken: "sesame"})
	defer client.Close()
	results := client.Send(t.Context(), []push.Message{{ID: "1", Token: "ExponentPushToken[a]", Title: "Hello"}})
	if results[0].Verdict != push.Sent || results[0].Ticket == "" {
		t.Fatalf("result %+v", results[0])
	}
	receipts, err := client.Receipts(t.Context(), []string{results[0].Ticket})
	if err != nil || !receipts[results[0].Ticket].Delivered {
		t.Errorf("receipts %v, error %v", receipts, err)
	}
	if status, text, err := newClient(t, base, "").get(t.Context(), "/deliveries"); err != nil || status != 200 || !strings.Contains(text, `"title": "Hello"`) {
		t.Errorf("deliveries: HTTP %d, error %v: %s", status, err, text)
	}

	body := strings.NewReader(`{"to":"ExponentPushToken[a-slow]"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/--/api/v2/push/send", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sesame")
	resp, err := newClient(t, base, "").http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	if text, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the slow answer came to its end: %s", text)
	}
}

func TestExpoSimRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		args    []string
		code    int
		message string
	}{
		{"leftovers", []string{"now"}, exitUsage, `unexpected "now"`},
		{"no limit", []string{"--limit", "0"}, exitUsage, "limit must not be 0"},
		{"delay", []string{"--receipt-delay", "-1s"}, exitUsage, "receipt-delay"},
		{"address", []string{"--listen", "127.0.0.1:no"}, exitFailure, "listen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			complete(t, nil, append([]string{"expo-sim"}, tt.args...)...).check(t, tt.code, tt.message)
		})
	}
}

package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"testing"

	"belfry/storage/storagetest"
)

var adminLine = regexp.MustCompile(`"msg":"open to operators","address":"([^"]+)"`)

// fetch returns the status and the body of an answer.
func fetch(t *testing.T, url string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// Profiles are on the operators' address and nowhere else, and a stop waits for none.
func TestAdmin(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t), "--admin-listen", "127.0.0.1:0")
	public := p.baseURL()
	admin := "http://" + p.waitFor(p.stderr, adminLine)
	tests := []struct {
		url    string
		status int
		holds  string
	}{
		{admin + "/debug/pprof/", http.StatusOK, "goroutine"},
		{admin + "/debug/pprof/goroutine?debug=1", http.StatusOK, "goroutine profile"},
		{admin + "/debug/pprof/cmdline", http.StatusOK, "--admin-listen"},
		{admin + "/debug/pprof/profile?seconds=1", http.StatusOK, "\x1f\x8b"}, // gzip
		{admin + "/graphql", http.StatusNotFound, ""},
		{admin + "/", http.StatusNotFound, ""},
		{public + "/debug/pprof/", http.StatusNotFound, ""},
	}
	for _, tt := range tests {
		status, body := fetch(t, tt.url)
		if status != tt.status || !bytes.Contains(body, []byte(tt.holds)) {
			t.Errorf("%s: got %d %.100q, want %d with %q", tt.url, status, body, tt.status, tt.holds)
		}
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAdminAddressTaken(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t))
	taken := p.baseURL()[len("http://"):]
	got := complete(t, secretVariable, "serve", "--database-url", storagetest.URL(t), "--listen", "127.0.0.1:0", "--admin-listen", taken)
	got.check(t, exitFailure, "choose another address with --admin-listen")
}

// Without the flag there is no second address.
func TestNoAdmin(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t))
	_ = p.baseURL()
	if p.stop() != 0 || adminLine.MatchString(p.stderr.String()) {
		t.Errorf("its log: %s", p.stderr)
	}
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"belfry/storage/storagetest"
)

var filledToken = regexp.MustCompile(`Bearer (ey[\w.-]+)`)

func TestDevPlayground(t *testing.T) {
	t.Parallel()
	d := startDev(t, dataDir(t), nil, "--no-demo")
	status, page, err := newClient(t, d.base, "").get(t.Context(), "/") // it follows the redirect
	if err != nil || status != http.StatusOK {
		t.Fatalf("HTTP %d, %v", status, err)
	}
	token := filledToken.FindStringSubmatch(page)
	if token == nil {
		t.Fatalf("no token in %s", page)
	}
	ada := newClient(t, d.base, token[1])
	var data struct{ Viewer struct{ UserID string } }
	ada.must(t, `{ viewer { userId } }`, nil, &data)
	if data.Viewer.UserID != "ada" {
		t.Errorf("viewer %q", data.Viewer.UserID)
	}
	if _, err := ada.dispatch(t.Context(), "run", "ada"); err != nil {
		t.Error(err)
	}
	if want := "Its playground is  " + d.base + "/playground\n"; !strings.Contains(d.stdout.String(), want) {
		t.Errorf("the greeting lacks %q: %s", want, d.stdout)
	}
}

// Introspection follows the playground, which is off unless asked for and never has a token.
func TestServePlayground(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "playground 404, root 404, introspection false"},
		{[]string{"--playground"}, "playground 200, root 404, introspection true"},
		{[]string{"--introspection"}, "playground 404, root 404, introspection true"},
	} {
		c := backendOf(t, serve(t, storagetest.URL(t), tt.args...))
		playground, page, err := c.get(t.Context(), "/playground")
		if err != nil {
			t.Fatal(err)
		}
		root, _, err := c.get(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		schema, err := c.ask(t.Context(), `{ __schema { queryType { name } } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("playground %d, root %d, introspection %v", playground, root, len(schema.Errors) == 0)
		if got != tt.want || filledToken.MatchString(page) {
			t.Errorf("%v: got %s, want %s", tt.args, got, tt.want)
		}
	}
}

func TestIsLocal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		peer, host string
		want       bool
	}{
		{"127.0.0.1:5000", "127.0.0.1:8080", true},
		{"127.0.0.1:5000", "localhost:8080", true},
		{"127.0.0.1:5000", "localhost", true},
		{"[::1]:5000", "[::1]:8080", true},
		{"[::1]:5000", "[::1]", true},
		{"[::ffff:127.0.0.1]:5000", "127.0.0.1", true},
		{"127.0.0.1:5000", "rebound.example.com:8080", false},
		{"127.0.0.1:5000", "localhost.example.com", false},
		{"127.0.0.1:5000", "10.0.0.7:8080", false},
		{"127.0.0.1:5000", "", false},
		{"10.0.0.8:5000", "127.0.0.1:8080", false},
		{"10.0.0.8:5000", "localhost", false},
		{"", "localhost", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/playground", nil)
		r.RemoteAddr, r.Host = tt.peer, tt.host
		if got := isLocal(r); got != tt.want {
			t.Errorf("peer %q, host %q: got %v, want %v", tt.peer, tt.host, got, tt.want)
		}
	}
}

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/storage/storagetest"
)

var secretVariable = []string{"BELFRY_JWT_SECRET=" + testSecret}

// serve starts belfry serve on a free port. It need not have come up yet.
func serve(t *testing.T, databaseURL string, args ...string) *process {
	t.Helper()
	return start(t, secretVariable,
		slices.Concat([]string{"serve", "--database-url", databaseURL, "--listen", "127.0.0.1:0"}, args)...)
}

// backendOf returns a client with every scope; it waits until the server serves.
func backendOf(t *testing.T, p *process) *client {
	t.Helper()
	return newClient(t, p.baseURL(), signed(t, "backend", everyScope))
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		vars     []string
		args     []string
		messages []string
	}{
		{"nothing given", nil, nil, []string{"database-url is required", "exactly one of secret and JWKS URL", "BELFRY_JWT_SECRET"}},
		{"many faults", []string{"BELFRY_JWT_SECRET=short"}, []string{"--stop-timeout=0s", "--log-level=loud", "--log-format=xml", "extra"},
			[]string{"database-url is required", "the secret has 5 bytes, it needs 32 or more", "stop-timeout", "log-level", "log-format", `"extra"`}},
		{"short secret in a file", []string{"BELFRY_JWT_SECRET_FILE=" + file}, nil,
			[]string{"database-url is required", "the secret has 5 bytes"}},
		{"secret and file", []string{"BELFRY_JWT_SECRET=" + testSecret, "BELFRY_JWT_SECRET_FILE=" + file}, nil,
			[]string{"database-url is required", "BELFRY_JWT_SECRET and BELFRY_JWT_SECRET_FILE exclude each other"}},
		{"secret and keys", secretVariable, []string{"--jwks-url=https://127.0.0.1/keys"}, []string{"exactly one of secret and JWKS URL"}},
		{"malformed database", secretVariable, []string{"--listen=127.0.0.1:0", "--database-url=:not:a:url"}, []string{"database url"}},
		{"unknown flag", secretVariable, []string{"--bogus"}, []string{"-bogus"}},
		{"malformed variables", []string{"BELFRY_STOP_TIMEOUT=soon", "BELFRY_INTROSPECTION=perhaps"}, nil,
			[]string{"BELFRY_STOP_TIMEOUT", "BELFRY_INTROSPECTION"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := complete(t, tt.vars, slices.Concat([]string{"serve"}, tt.args)...)
			got.check(t, exitUsage, tt.messages...)
			if got.stdout != "" || strings.Contains(got.stderr, testSecret) {
				t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
			}
		})
	}
}

func TestServeUnmigrated(t *testing.T) {
	t.Parallel()
	got := complete(t, secretVariable, "serve", "--listen", "127.0.0.1:0", "--database-url", emptyDatabase(t))
	got.check(t, exitFailure, "run belfry migrate up")
}

func TestServeFromEnvironment(t *testing.T) {
	t.Parallel()
	dir, databaseURL := t.TempDir(), storagetest.URL(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string][]string{
		"variables": {"BELFRY_DATABASE_URL=" + databaseURL, "BELFRY_JWT_SECRET=" + testSecret},
		"files": {
			"BELFRY_DATABASE_URL_FILE=" + write("url", databaseURL+"\n"),
			"BELFRY_JWT_SECRET_FILE=" + write("secret", testSecret+"\r\n"),
		},
	}
	for name, vars := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, append(vars, "BELFRY_LISTEN=127.0.0.1:0", "BELFRY_LOG_FORMAT=text"), "serve")
			var data struct{ Viewer struct{ UserID string } }
			backendOf(t, p).must(t, `{ viewer { userId } }`, nil, &data)
			if data.Viewer.UserID != "backend" {
				t.Errorf("viewer %q", data.Viewer.UserID)
			}
			if !strings.Contains(p.stderr.String(), "msg=serving") {
				t.Errorf("not a log of text: %s", p.stderr)
			}
		})
	}
}

func TestServeHealth(t *testing.T) {
	t.Parallel()
	c := backendOf(t, serve(t, storagetest.URL(t)))
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/": http.StatusNotFound} {
		if status, body, err := c.get(t.Context(), path); status != want {
			t.Errorf("%s: %d %q %v", path, status, body, err)
		}
	}
}

// What one server has written the other one knows: they share nothing but the database.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	one, other := serve(t, databaseURL), serve(t, databaseURL)
	first, err := backendOf(t, one).dispatch(t.Context(), "run", "ada", "dara")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(first)
	for i := range want {
		if want[i].Status != "CREATED" {
			t.Errorf("first dispatch: %+v", want[i])
		}
		want[i].Status = "DUPLICATE"
	}
	got, err := backendOf(t, other).dispatch(t.Context(), "run", "ada", "dara")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the other server (-want +got):\n%s", diff)
	}

	token := signed(t, "ada", "")
	var read struct{ MarkNotificationsRead struct{ ChangedIds []string } }
	newClient(t, other.baseURL(), token).must(t, `mutation ($id: ID!) { markNotificationsRead(input: {ids: [$id]}) { changedIds } }`,
		map[string]any{"id": first[0].NotificationID}, &read)
	var data struct{ Viewer struct{ UnreadCount int } }
	newClient(t, one.baseURL(), token).must(t, `{ viewer { unreadCount } }`, nil, &data)
	if len(read.MarkNotificationsRead.ChangedIds) != 1 || data.Viewer.UnreadCount != 0 {
		t.Errorf("read by one server: %+v, unread by the other: %d", read, data.Viewer.UnreadCount)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{nil, exitUsage, "", "Usage: belfry COMMAND"},
		{[]string{"help"}, 0, "Usage: belfry COMMAND", ""},
		{[]string{"--help"}, 0, "Usage: belfry COMMAND", ""},
		{[]string{"sing"}, exitUsage, "", `no command "sing"`},
		{[]string{"serve", "-h"}, 0, "-database-url", ""},
		{[]string{"dev", "extra"}, exitUsage, "", `unexpected "extra"`},
		{[]string{"dev", "--log-level=loud"}, exitUsage, "", "log-level"},
		{[]string{"migrate"}, exitUsage, "", "belfry migrate up or belfry migrate status"},
		{[]string{"migrate", "sideways", "--database-url=x"}, exitUsage, "", "belfry migrate up or belfry migrate status"},
		{[]string{"migrate", "up"}, exitUsage, "", "database-url is required"},
		{[]string{"migrate", "up", "--bogus"}, exitUsage, "", "-bogus"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got := complete(t, nil, tt.args...)
			got.check(t, tt.code, tt.stderr)
			if !strings.Contains(got.stdout, tt.stdout) || tt.stdout == "" && got.stdout != "" || tt.stderr == "" && got.stderr != "" {
				t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
			}
		})
	}
}

package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// migrations returns what migrate prints about every step.
func migrations(t *testing.T, state string) string {
	t.Helper()
	names, err := fs.Glob(os.DirFS("../../storage/migration"), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	return state + "  " + strings.Join(names, "\n"+state+"  ") + "\n"
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	databaseURL := emptyDatabase(t)
	tests := []struct {
		verb, want string
	}{
		{"status", migrations(t, "pending")},
		{"up", migrations(t, "applied")},
		{"up", "up to date\n"},
		{"status", migrations(t, "applied")},
	}
	for _, tt := range tests {
		got := complete(t, nil, "migrate", tt.verb, "--database-url", databaseURL)
		got.check(t, 0)
		if diff := cmp.Diff(tt.want, got.stdout); diff != "" {
			t.Errorf("migrate %s (-want +got):\n%s", tt.verb, diff)
		}
	}
	serve(t, databaseURL).baseURL() // which it does not on an older schema
}

// Of several that migrate at once, as replicas do that start together, one does and the others see it done.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	databaseURL := emptyDatabase(t)
	var running []*process
	for range 4 {
		running = append(running, start(t, []string{"BELFRY_DATABASE_URL=" + databaseURL}, "migrate", "up"))
	}
	got := map[string]int{}
	for _, p := range running {
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d: %s", code, p.stderr)
		}
		got[p.stdout.String()]++
	}
	want := map[string]int{migrations(t, "applied"): 1, "up to date\n": 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("four at once (-want +got):\n%s", diff)
	}
}

func TestMigrateUnreachable(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"up", "status"} {
		got := complete(t, nil, "migrate", verb, "--database-url", "postgres://belfry:hush@127.0.0.1:1/belfry")
		got.check(t, exitFailure, "the database does not answer")
		if strings.Contains(got.stderr, "hush") {
			t.Errorf("shows the password: %s", got.stderr)
		}
	}
}

package storage_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// bare returns the URL of a database without Belfry's tables.
func bare(t *testing.T) string {
	t.Helper()
	databaseURL := storagetest.URL(t)
	exec(t, connect(t, databaseURL), `DROP SCHEMA public CASCADE; CREATE SCHEMA public`)
	return databaseURL
}

func migrations(t *testing.T, databaseURL string) []storage.Migration {
	t.Helper()
	list, err := storage.Migrations(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	databaseURL := bare(t)
	var names []string
	for _, m := range migrations(t, databaseURL) {
		if m.IsApplied {
			t.Errorf("%s: got applied before Migrate", m.Name)
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		t.Fatal("got no migrations")
	}
	for _, want := range [][]string{names, {}} {
		got, err := storage.Migrate(t.Context(), databaseURL)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("steps (-want +got):\n%s", diff)
		}
	}
	for _, m := range migrations(t, databaseURL) {
		if !m.IsApplied {
			t.Errorf("%s: got not applied after Migrate", m.Name)
		}
	}
	place(t, open(t, databaseURL), event("run", "u"))
}

// Processes that start at the same time share the work: each step is taken once, and no one fails. There are
// two, since who waits for the lock looks every 5 s.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	databaseURL := bare(t)
	want := len(migrations(t, databaseURL))
	var mu sync.Mutex
	var taken []string
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			names, err := storage.Migrate(t.Context(), databaseURL)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			taken = append(taken, names...)
		})
	}
	wg.Wait()
	if got := len(taken); got != want {
		t.Errorf("got %d steps, want %d: %q", got, want, taken)
	}
}

func TestMigrateUnreachable(t *testing.T) {
	t.Parallel()
	databaseURL := "postgres://nobody@127.0.0.1:1/none?sslmode=disable"
	_, err := storage.Migrate(t.Context(), databaseURL)
	if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
		t.Errorf("migrate: got %s, want %s: %v", got, want, err)
	}
	_, err = storage.Migrations(t.Context(), databaseURL)
	if got, want := inbox.ErrorCode(err), inbox.Unavailable; got != want {
		t.Errorf("migrations: got %s, want %s: %v", got, want, err)
	}
}

func TestCheckSchema(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		want   string // part of the message; empty for no error
	}{
		"migrated":       {``, ""},
		"newer":          {`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`, ""},
		"older":          {`DELETE FROM goose_db_version WHERE version_id > 0`, "run belfry migrate up"},
		"empty":          {`DROP SCHEMA public CASCADE; CREATE SCHEMA public`, "has schema version 0"},
		"no rows at all": {`DELETE FROM goose_db_version`, "has schema version 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			exec(t, connect(t, databaseURL), tt.change)
			err := open(t, databaseURL).CheckSchema(t.Context())
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
	t.Run("the newest migration is the one that is wanted", func(t *testing.T) {
		t.Parallel()
		databaseURL := storagetest.URL(t)
		list := migrations(t, databaseURL)
		exec(t, connect(t, databaseURL), `DELETE FROM goose_db_version WHERE version_id = $1`, list[len(list)-1].Version)
		if err := open(t, databaseURL).CheckSchema(t.Context()); err == nil {
			t.Error("got no error without it, want latestVersion to be its version")
		}
	})
}

func TestOpenMalformed(t *testing.T) {
	t.Parallel()
	if _, err := storage.Open(t.Context(), storage.Config{URL: "postgres://user:secret@host:notaport/"}); err == nil {
		t.Error("open: got no error")
	} else if strings.Contains(err.Error(), "secret") {
		t.Errorf("open: the password is in the message: %v", err)
	}
}

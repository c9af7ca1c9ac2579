// Package storagetest gives each test a migrated database of its own on a real Postgres.
//
// The Postgres is the one that TEST_DATABASE_URL names, else a private one that Main starts and ends. The
// schema is migrated once, into a template whose name holds the migrations' hash; a test's database is a
// copy. A failed test's database is kept and its URL printed.
package storagetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"belfry/devdb"
	"belfry/storage"
)

// fixture is what the tests of one process share.
type fixture struct {
	mu       sync.Mutex
	cluster  *devdb.Cluster // guarded by mu; nil until the first test and with TEST_DATABASE_URL
	err      error          // guarded by mu: why there is none
	server   string         // guarded by mu: the URL of the server, without a database
	template string         // guarded by mu: the name of the migrated template
	isKept   bool           // guarded by mu: a failed test's database is to be looked at
}

// maxConnections is enough for the pools of all tests that run at once.
const maxConnections = "200"

// shared is a global because the tests of a process have nothing else in common.
var shared fixture

// Main runs a package's tests and then ends the private Postgres, or leaves it running where a test has
// failed and nobody is watching in CI. Call it from TestMain: os.Exit(storagetest.Main(m)).
func Main(m *testing.M) int {
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.cluster == nil {
		return code
	}
	if shared.isKept && os.Getenv("CI") == "" {
		if err := shared.cluster.Detach(context.Background()); err == nil {
			fmt.Fprintf(os.Stderr, "storagetest: Postgres is left running in %s for the databases above; end it with: kill -INT %d\n",
				shared.cluster.Dir(), shared.cluster.Pid())
			return code
		}
	}
	if err := shared.cluster.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "storagetest: %v\n", err)
	}
	return code
}

// New returns a store over a new database.
func New(t testing.TB) *storage.Store {
	t.Helper()
	return Open(t, storage.Config{URL: URL(t)})
}

// Open returns a store that is closed with the test. Its log goes to the test's output.
func Open(t testing.TB, cfg storage.Config) *storage.Store {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	store, err := storage.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// URL returns the connection string of a new, migrated database, which is dropped with the test.
func URL(t testing.TB) string {
	t.Helper()
	server, template := shared.prepare(t)
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if err := exec(t.Context(), server, `CREATE DATABASE `+name+` TEMPLATE `+template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			shared.keep(t, withDatabase(server, name))
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := exec(ctx, server, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(server, name)
}

// Cluster returns a private Postgres of the test's own, to be killed, stopped and opened again on its
// directory, and the URL of a migrated database in it.
func Cluster(t testing.TB) (*devdb.Cluster, string) {
	t.Helper()
	parent, err := os.MkdirTemp(devdb.ScratchDir(), "belfry-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	//nolint:gosec // The user that Postgres runs as must be able to pass through.
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	cluster, err := devdb.Open(t.Context(), devdb.Config{
		Dir: filepath.Join(parent, "pg"), Volatile: true, Logger: slog.New(slog.DiscardHandler),
		// What is acknowledged has to outlive a kill.
		Settings: map[string]string{"max_connections": maxConnections, "synchronous_commit": "on"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	databaseURL := cluster.URL(devdb.Database)
	if _, err := storage.Migrate(t.Context(), databaseURL); err != nil {
		t.Fatal(err)
	}
	return cluster, databaseURL
}

// prepare starts or finds the server and makes the template, once a process.
func (f *fixture) prepare(t testing.TB) (server, template string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.template == "" && f.err == nil {
		f.err = f.start()
	}
	if f.err != nil {
		t.Fatalf("no Postgres for the test: %v", f.err)
	}
	return f.server, f.template
}

// start is called with f.mu held.
func (f *fixture) start() error {
	// Not a test's context: the cluster outlives the test that happens to be the first.
	ctx := context.Background()
	f.server = os.Getenv("TEST_DATABASE_URL")
	if f.server == "" {
		cluster, err := devdb.OpenTemp(ctx, devdb.Config{
			Settings: map[string]string{"max_connections": maxConnections}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		f.cluster, f.server = cluster, cluster.URL("postgres")
	}
	template := "belfry_template_" + storage.MigrationHash()
	if err := makeTemplate(ctx, f.server, template); err != nil {
		return err
	}
	f.template = template
	return nil
}

// makeTemplate migrates a database of that name unless a process has done so before. It is migrated under
// another name and then renamed, so that nobody copies half a schema.
func makeTemplate(ctx context.Context, server, name string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// Held until the connection closes: two packages' tests may begin at once on one server.
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext($1))`, name); err != nil {
		return err
	}
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists); err != nil || exists {
		return err
	}
	draft := name + "_draft"
	for _, sql := range []string{`DROP DATABASE IF EXISTS ` + draft + ` WITH (FORCE)`, `CREATE DATABASE ` + draft} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if _, err := storage.Migrate(ctx, withDatabase(server, draft)); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `ALTER DATABASE `+draft+` RENAME TO `+name)
	return err
}

// keep remembers that a failed test's database is to stay.
func (f *fixture) keep(t testing.TB, databaseURL string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isKept = true
	t.Logf("storagetest: the database is kept: %s", databaseURL)
}

func exec(ctx context.Context, server, sql string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	if closeErr := conn.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// withDatabase returns a server's URL with another database.
func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + name
	return u.String()
}

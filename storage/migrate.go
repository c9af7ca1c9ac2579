package storage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"

	_ "github.com/jackc/pgx/v5/stdlib" // goose wants database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	IsApplied bool
}

// Migrate brings the database's schema up to date and returns the names of the steps it took. Processes
// that migrate at the same time wait for each other.
func Migrate(ctx context.Context, url string) ([]string, error) {
	p, closeDB, err := migrator(url)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	results, err := p.Up(ctx)
	if err != nil {
		return nil, fault("migrate", err)
	}
	names := make([]string, 0, len(results))
	for _, r := range results {
		names = append(names, r.Source.Path)
	}
	return names, nil
}

// Migrations returns every step and whether the database has taken it.
func Migrations(ctx context.Context, url string) ([]Migration, error) {
	p, closeDB, err := migrator(url)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	status, err := p.Status(ctx)
	if err != nil {
		return nil, fault("migration status", err)
	}
	steps := make([]Migration, 0, len(status))
	for _, s := range status {
		steps = append(steps, Migration{
			Version: s.Source.Version, Name: s.Source.Path, IsApplied: s.State == goose.StateApplied,
		})
	}
	return steps, nil
}

// lockTries is how often, a second apart, a process tries for the lock that another migrates under.
const lockTries = 300

func migrator(url string) (*goose.Provider, func(), error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, nil, fmt.Errorf("database url: %w", err)
	}
	closeDB := func() { _ = db.Close() }
	dir, err := fs.Sub(migrationFiles, "migration")
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("embedded migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, lockTries))
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir, goose.WithSessionLocker(locker))
	if err != nil {
		closeDB()
		return nil, nil, fmt.Errorf("migrations: %w", err)
	}
	return p, closeDB, nil
}

// latestVersion is the version that this program's statements are written for.
const latestVersion = 4

const schemaVersionSQL = `-- name: SchemaVersion
SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

// CheckSchema returns an error that says what to do where the schema is older than this program. A
// newer one passes: a rolling upgrade migrates first.
func (s *Store) CheckSchema(ctx context.Context) error {
	var version int64
	err := s.pool.QueryRow(ctx, schemaVersionSQL).Scan(&version)
	if isUndefinedTable(err) {
		version, err = 0, nil
	}
	if err != nil {
		return fault("schema version", err)
	}
	if version < latestVersion {
		return fmt.Errorf("the database has schema version %d, this program needs %d: run belfry migrate up", version, latestVersion)
	}
	return nil
}

// MigrationHash identifies the schema that Migrate makes.
func MigrationHash() string {
	h := sha256.New()
	entries, err := migrationFiles.ReadDir("migration")
	if err != nil {
		panic(err) // embedded at build time
	}
	for _, e := range entries {
		data, err := migrationFiles.ReadFile("migration/" + e.Name())
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprintf(h, "%s %d\n", e.Name(), len(data))
		_, _ = h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

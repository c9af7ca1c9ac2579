package storage_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/storage"
	"belfry/storage/storagetest"
)

// connect opens a connection beside the store's, which is closed with the test.
func connect(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = conn.Close(ctx) // fails where the test has killed Postgres
	})
	return conn
}

// open returns a store over a database of the test's.
func open(t testing.TB, databaseURL string) *storage.Store {
	t.Helper()
	return storagetest.Open(t, storage.Config{URL: databaseURL})
}

// exec runs one statement, or several where there are no args.
func exec(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
}

// value returns what a statement of one row and one column says.
func value[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	return v
}

// withParam returns a connection string with one more parameter.
func withParam(t testing.TB, databaseURL, name, value string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// eventually polls until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("still not so after 30 s: %s", what)
		}
	}
}

// waitForBlocked returns when so many statements of the connection's database wait for a lock.
func waitForBlocked(t testing.TB, conn *pgx.Conn, n int) {
	t.Helper()
	eventually(t, "statements wait for a lock", func() bool {
		return value[int](t, conn, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	})
}

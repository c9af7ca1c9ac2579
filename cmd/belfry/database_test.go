package main

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"belfry/storage/storagetest"
)

// connect returns a connection beside the servers', which is closed with the test.
func connect(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// count returns the number that a statement selects.
func count(t *testing.T, conn *pgx.Conn, sql string) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// emptyDatabase returns the URL of a database without any schema, which is dropped with the test.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(storagetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, u.String())
	name := "empty_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := conn.Exec(t.Context(), `CREATE DATABASE `+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Error(err)
		}
	})
	u.Path = "/" + name
	return u.String()
}

// hold makes a dispatch of the run to the recipient wait: it claims the same event in a transaction that
// stays open until the returned function takes it back.
func hold(t *testing.T, databaseURL, run, recipient string) (release func()) {
	t.Helper()
	tx, err := connect(t, databaseURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const sql = `INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
		VALUES ($1, $2, '', now(), gen_random_uuid())`
	if _, err := tx.Exec(t.Context(), sql, recipient, claimKey(run, recipient)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// claimKey is the key under which client.dispatch's event of the run is claimed.
func claimKey(run, recipient string) string { return "notification:" + run + ":test:" + recipient }

// awaitHeld waits until a statement in the database waits for another's lock.
func awaitHeld(t *testing.T, databaseURL string) {
	t.Helper()
	conn := connect(t, databaseURL)
	eventually(t, "a dispatch waits", func() bool {
		return count(t, conn, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
}

package storage

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres ends by itself what nobody waits for any more; a pooler would refuse the parameter.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	const base = "postgres://postgres@localhost/belfry?sslmode=disable"
	for suffix, want := range map[string]string{
		"": "40s", "&statement_timeout=7s": "7s",
		"&default_query_exec_mode=cache_describe": "", "&default_query_exec_mode=cache_describe&statement_timeout=7s": "7s",
	} {
		cc, err := pgx.ParseConfig(base + suffix)
		if err != nil {
			t.Fatal(err)
		}
		setStatementTimeout(cc)
		if got := cc.RuntimeParams["statement_timeout"]; got != want {
			t.Errorf("%s: got %q, want %q", suffix, got, want)
		}
	}
}

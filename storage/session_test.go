package storage

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The statements find the session that they are written for; a pooler would refuse the parameters.
func TestSession(t *testing.T) {
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
		setSession(cc)
		if got := cc.RuntimeParams["statement_timeout"]; got != want {
			t.Errorf("%s: got %q, want %q", suffix, got, want)
		}
		plans := cc.RuntimeParams["plan_cache_mode"]
		if isPooled := strings.Contains(suffix, "cache_describe"); (plans == "") != isPooled {
			t.Errorf("%s: plan_cache_mode: got %q", suffix, plans)
		}
	}
}

package storage_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"belfry/storage/storagetest"
)

// isRefused writes columns, which are literals, and reports whether a CHECK refuses them.
func isRefused(t testing.TB, conn *pgx.Conn, table string, columns map[string]string) bool {
	t.Helper()
	names := slices.Sorted(maps.Keys(columns))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = columns[name]
	}
	sql := `INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(values, ", ") + `)`
	_, err := conn.Exec(t.Context(), sql)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "23514" {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	return false
}

// with returns columns with some set otherwise.
func with(columns, others map[string]string) map[string]string {
	all := maps.Clone(columns)
	maps.Copy(all, others)
	return all
}

// The database refuses a delivery in a state that makes no sense, whatever the code does.
func TestDeliveryChecks(t *testing.T) {
	t.Parallel()
	conn := connect(t, storagetest.URL(t))
	base := map[string]string{
		"user_id": "'a'", "notification_at": "now()", "notification_id": "gen_random_uuid()",
		"device_id": "gen_random_uuid()", "provider": "'EXPO'",
	}
	// What each state has to have, and what it may not have.
	type columns = map[string]string
	states := map[string]struct{ has, lacks columns }{
		"queued":        {columns{}, columns{"settled_at": "now()"}},
		"sending":       {columns{"leased_until": "now()"}, columns{"settled_at": "now()", "error": "'x'"}},
		"sent":          {columns{"sent_at": "now()"}, columns{"settled_at": "now()", "error": "'x'"}},
		"delivered":     {columns{"sent_at": "now()", "settled_at": "now()"}, columns{"error": "'x'"}},
		"failed":        {columns{"settled_at": "now()", "error": "'x'"}, columns{}},
		"receipt_error": {columns{"sent_at": "now()", "settled_at": "now()", "error": "'x'"}, columns{}},
		"unknown":       {columns{"sent_at": "now()", "settled_at": "now()"}, columns{}},
		"suppressed":    {columns{"settled_at": "now()", "error": "'x'"}, columns{}},
	}
	for state, tt := range states {
		good := with(with(base, tt.has), columns{"state": "'" + state + "'"})
		if isRefused(t, conn, "push_deliveries", good) {
			t.Errorf("%s: refused as it should be", state)
		}
		for name := range tt.has {
			if !isRefused(t, conn, "push_deliveries", with(good, columns{name: "NULL"})) {
				t.Errorf("%s without %s: taken", state, name)
			}
		}
		for name, value := range tt.lacks {
			if !isRefused(t, conn, "push_deliveries", with(good, columns{name: value})) {
				t.Errorf("%s with %s: taken", state, name)
			}
		}
	}
	for _, state := range []string{"", "QUEUED", "done"} {
		if !isRefused(t, conn, "push_deliveries", with(base, columns{"state": "'" + state + "'"})) {
			t.Errorf("state %q: taken", state)
		}
	}
}

func TestDeviceChecks(t *testing.T) {
	t.Parallel()
	conn := connect(t, storagetest.URL(t))
	type columns = map[string]string
	base := columns{"user_id": "'a'", "id": "gen_random_uuid()", "provider": "'EXPO'", "token": "'t'"}
	for name, tt := range map[string]struct {
		columns   columns
		isRefused bool
	}{
		"on":                      {columns{}, false},
		"off":                     {columns{"disabled_at": "now()", "disabled_reason": "'x'"}, false},
		"off without a reason":    {columns{"disabled_at": "now()"}, true},
		"on with a reason":        {columns{"disabled_reason": "'x'"}, true},
		"an unknown provider":     {columns{"provider": "'PIGEON'"}, true},
		"an unknown platform":     {columns{"platform": "'ios'"}, true},
		"the platform of Android": {columns{"platform": "'ANDROID'"}, false},
	} {
		columns := with(with(base, tt.columns), columns{"token_hash": "'" + name + "'"})
		if got := isRefused(t, conn, "devices", columns); got != tt.isRefused {
			t.Errorf("%s: refused: got %v, want %v", name, got, tt.isRefused)
		}
	}
}

package devdb_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
)

func TestProcessKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := startChild(t, holdMode, dir)
	c.pid(t)
	execSQL(t, "postgres://postgres@/belfry?port=5432&host="+dir, keepRow)
	c.kill()
	eventually(t, "Postgres has ended", func() bool { return !exists(pidFile(dir)) })
	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "database system is shut down") {
		t.Errorf("not a fast shutdown:\n%s", log)
	}
	wantRow(t, dir)
}

// The next process may come while the killed one's Postgres is still on its way out.
func TestProcessKilledAndRestartedAtOnce(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := startChild(t, holdMode, dir)
	c.pid(t)
	execSQL(t, "postgres://postgres@/belfry?port=5432&host="+dir, keepRow)
	c.kill()
	wantRow(t, dir)
}

func TestPostgresKilled(t *testing.T) {
	t.Parallel()
	c := open(t, newDir(t))
	execSQL(t, c.URL(devdb.Database), keepRow)
	before := c.Pid()
	kill(t, before, syscall.SIGKILL)
	eventually(t, "another Postgres runs", func() bool { return c.Pid() != before && c.Pid() != 0 })
	if diff := cmp.Diff("kept", queryString(t, c.URL(devdb.Database), readRow)); diff != "" {
		t.Errorf("row after the restart (-want +got):\n%s", diff)
	}
}

func TestClosedWhilePostgresIsDown(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := open(t, dir)
	before := c.Pid()
	kill(t, before, syscall.SIGKILL)
	eventually(t, "the death is noticed", func() bool { return c.Pid() != before })
	closeCluster(t, c)
	open(t, dir)
}

func TestBothKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := startChild(t, holdMode, dir)
	pid := c.pid(t)
	execSQL(t, "postgres://postgres@/belfry?port=5432&host="+dir, keepRow)
	kill(t, pid, syscall.SIGKILL)
	c.kill()
	wantRow(t, dir)
}

func TestKilledDuringInitdb(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"before it begins":  "data.new",
		"at the beginning":  "data.new/data/PG_VERSION",
		"in the middle":     "data.new/data/base/1/PG_VERSION",
		"databases written": "data.new/data/base/5",
		"renamed":           "data",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			c := startChild(t, holdMode, dir)
			eventually(t, path+" is there", func() bool { return exists(filepath.Join(dir, path)) })
			c.kill()
			cluster := open(t, dir)
			if diff := cmp.Diff("1", queryString(t, cluster.URL(devdb.Database), "select '1'")); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			if exists(filepath.Join(dir, "data.new")) {
				t.Error("data.new is still there")
			}
		})
	}
}

func wantRow(t *testing.T, dir string) {
	t.Helper()
	c := open(t, dir)
	if diff := cmp.Diff("kept", queryString(t, c.URL(devdb.Database), readRow)); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

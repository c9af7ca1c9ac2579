package devdb_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
)

func TestOpenTemp(t *testing.T) {
	t.Parallel()
	c, err := devdb.OpenTemp(t.Context(), testConfig(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1", queryString(t, c.URL(devdb.Database), "select '1'")); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	closeCluster(t, c)
	if exists(c.Dir()) {
		t.Error("the directory is still there after Close")
	}
	if _, err := devdb.OpenTemp(t.Context(), testConfig(t, scratch(t))); err == nil {
		t.Error("a directory was accepted")
	}
}

func TestOpenTempSweeps(t *testing.T) {
	t.Parallel()
	killed, running := startChild(t, tempMode, ""), startChild(t, tempMode, "")
	abandoned, held := killed.line(t), running.line(t)
	killed.kill()
	eventually(t, "its Postgres has ended", func() bool { return !exists(pidFile(abandoned)) })
	c, err := devdb.OpenTemp(t.Context(), testConfig(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer closeCluster(t, c)
	if exists(abandoned) {
		t.Error("the killed process's directory is still there")
	}
	if !exists(pidFile(held)) {
		t.Error("the running process's cluster is gone")
	}
	if err := running.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := running.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if exists(held) {
		t.Error("the ended process's directory is still there")
	}
}

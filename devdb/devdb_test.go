package devdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
)

func TestColdAndWarmStart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first := open(t, dir)
	execSQL(t, first.URL(devdb.Database), keepRow)
	closeCluster(t, first)
	if exists(pidFile(dir)) {
		t.Error("Postgres is still up after Close")
	}
	if got, want := first.Pid(), 0; got != want {
		t.Errorf("pid after Close: got %d, want %d", got, want)
	}
	second := open(t, dir)
	if diff := cmp.Diff("kept", queryString(t, second.URL(devdb.Database), readRow)); diff != "" {
		t.Errorf("row after a restart (-want +got):\n%s", diff)
	}
}

func TestNewClusterSettings(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newDir(t))
	cfg.Settings = map[string]string{"max_connections": "33"}
	c, err := devdb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeCluster(t, c)
	const query = `select concat_ws(' ', current_user, current_database(), pg_encoding_to_char(encoding), datcollate,
		current_setting('listen_addresses') = '', current_setting('max_connections'), current_setting('fsync'))
		from pg_database where datname = current_database()`
	got := queryString(t, c.URL(devdb.Database), query)
	if diff := cmp.Diff("postgres belfry UTF8 C t 33 off", got); diff != "" {
		t.Errorf("a new cluster (-want +got):\n%s", diff)
	}
}

func TestDurableClusterHasChecksums(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newDir(t))
	cfg.Volatile = false
	c, err := devdb.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeCluster(t, c)
	const query = `select concat_ws(' ', current_setting('data_checksums'), current_setting('fsync'))`
	if diff := cmp.Diff("on on", queryString(t, c.URL("postgres"), query)); diff != "" {
		t.Errorf("checksums and fsync (-want +got):\n%s", diff)
	}
}

func TestOddDirectoryName(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(scratch(t), `it's 50% "a b" & ü`))
	if diff := cmp.Diff("1", queryString(t, c.URL(devdb.Database), "select '1'")); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
}

func TestPostgresIsApart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := open(t, dir)
	group, err := syscall.Getpgid(c.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if group == syscall.Getpgrp() {
		t.Error("Postgres is in this process's group: a Ctrl-C would reach it")
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Mode().Perm(), os.FileMode(0o700); got != want {
		t.Errorf("mode of the directory: got %o, want %o", got, want)
	}
}

func TestCloseWithClient(t *testing.T) {
	t.Parallel()
	c := open(t, newDir(t))
	conn := connect(t, c.URL(devdb.Database))
	closeCluster(t, c)
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a client is still connected after Close")
	}
	disconnect(t, conn)
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if got := c.Restart(t.Context()); !errors.Is(got, devdb.ErrClosed) {
		t.Errorf("Restart after Close: got %v, want ErrClosed", got)
	}
	if got := c.Detach(t.Context()); !errors.Is(got, devdb.ErrClosed) {
		t.Errorf("Detach after Close: got %v, want ErrClosed", got)
	}
}

func TestStopAtOnce(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := open(t, dir)
	execSQL(t, c.URL(devdb.Database), keepRow)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ended); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if diff := cmp.Diff("kept", queryString(t, again.URL(devdb.Database), readRow)); diff != "" {
		t.Errorf("row after an immediate shutdown (-want +got):\n%s", diff)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	c := open(t, newDir(t))
	execSQL(t, c.URL(devdb.Database), keepRow)
	before := c.Pid()
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := c.Pid(); after == before || after == 0 {
		t.Errorf("pid after Restart: got %d, before %d", after, before)
	}
	if diff := cmp.Diff("kept", queryString(t, c.URL(devdb.Database), readRow)); diff != "" {
		t.Errorf("row after Restart (-want +got):\n%s", diff)
	}
}

func TestOpenGivesUpWithContext(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !exists(filepath.Join(dir, "data.new", "data")) && ctx.Err() == nil {
			<-tick.C
		}
		cancel()
	}()
	if _, err := devdb.Open(ctx, testConfig(t, dir)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	open(t, dir)
}

func TestDetach(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := startChild(t, detachMode, dir)
	pid := c.pid(t)
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	url := "postgres://postgres@/belfry?port=5432&host=" + dir
	if diff := cmp.Diff("1", queryString(t, url, "select '1'")); diff != "" {
		t.Errorf("query after the end of the process (-want +got):\n%s", diff)
	}
	_, err := devdb.Open(t.Context(), testConfig(t, dir))
	wantFault(t, err, devdb.ErrInUse, pidText(pid))
	kill(t, pid, syscall.SIGINT)
	eventually(t, "Postgres has ended", func() bool { return !exists(pidFile(dir)) })
	eventually(t, "the lock is free", func() bool {
		c, err := devdb.Open(t.Context(), testConfig(t, dir))
		if err == nil {
			closeCluster(t, c)
		}
		return err == nil
	})
}

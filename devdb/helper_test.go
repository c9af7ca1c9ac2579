package devdb_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"belfry/devdb"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// scratch makes a directory that Postgres's user can reach, which t.TempDir is not for root.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(devdb.ScratchDir(), "devdb-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newDir returns the path of a directory that does not exist yet.
func newDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(scratch(t), "cluster")
}

func testConfig(t *testing.T, dir string) devdb.Config {
	t.Helper()
	return devdb.Config{
		Dir:      dir,
		Volatile: true,
		// A commit has to outlive a killed Postgres here.
		Settings: map[string]string{"synchronous_commit": "on"},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// open opens a cluster that ends with the test.
func open(t *testing.T, dir string) *devdb.Cluster {
	t.Helper()
	began := time.Now()
	c, err := devdb.Open(t.Context(), testConfig(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("open took %s", time.Since(began))
	t.Cleanup(func() { closeCluster(t, c) })
	return c
}

func closeCluster(t *testing.T, c *devdb.Cluster) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// execSQL runs statements on a connection of their own.
func execSQL(t *testing.T, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	defer disconnect(t, conn)
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func queryString(t *testing.T, url, sql string) string {
	t.Helper()
	conn := connect(t, url)
	defer disconnect(t, conn)
	var got string
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

func disconnect(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
}

const (
	keepRow = "create table kept (text text); insert into kept values ('kept')"
	readRow = "select text from kept"
)

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func pidFile(dir string) string { return filepath.Join(dir, "data", "postmaster.pid") }

// child is this test program again, run as the process that supervises a cluster.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
}

// What TestHelperProcess is to do.
const (
	holdMode   = "hold"   // open a cluster, print the postmaster's pid, wait for the end of stdin
	detachMode = "detach" // open, detach, print the pid and end
	tempMode   = "temp"   // as hold, with OpenTemp, and print the directory
)

func startChild(t *testing.T, mode, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), "DEVDB_MODE="+mode, "DEVDB_DIR="+dir)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}
	t.Cleanup(c.kill)
	return c
}

// line waits for what the child prints when its cluster is open.
func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("the child ended early: %v", err)
	}
	return strings.TrimSpace(line)
}

// pid is line for a child that prints its postmaster's process id.
func (c *child) pid(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(c.line(t))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// kill ends the child by kill -9 and returns when it is gone; it may be called again.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func kill(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// TestHelperProcess is no test: startChild runs it.
func TestHelperProcess(t *testing.T) {
	mode := os.Getenv("DEVDB_MODE")
	if mode == "" {
		return
	}
	openCluster := devdb.Open
	if mode == tempMode {
		openCluster = devdb.OpenTemp
	}
	c, err := openCluster(t.Context(), testConfig(t, os.Getenv("DEVDB_DIR")))
	if err != nil {
		t.Fatal(err)
	}
	switch mode {
	case detachMode:
		if err := c.Detach(t.Context()); err != nil {
			t.Fatal(err)
		}
		fmt.Println(c.Pid())
		os.Exit(0) // past the leak check: the wait for Postgres goes on
	case tempMode:
		fmt.Println(c.Dir())
	default:
		fmt.Println(c.Pid())
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // the parent's death ends it too
	closeCluster(t, c)
}

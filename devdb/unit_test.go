package devdb

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18.4\n":                           18,
		"postgres (PostgreSQL) 19beta1\n":                        19,
		"postgres (PostgreSQL) 19devel\n":                        19,
		"initdb (PostgreSQL) 17.1\n":                             0,
		"":                                                       0,
	} {
		got, err := parseVersion(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseVersion(%q): got %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	found := []installation{{dir: "/mine", major: 15, chosen: true}, {dir: "/17", major: 17}, {dir: "/16", major: 16}}
	for name, test := range map[string]struct {
		major int
		want  string
		err   error
	}{
		"new cluster":     {major: 0, want: "/mine"},
		"its own major":   {major: 16, want: "/16"},
		"none of a major": {major: 14, err: ErrMajor},
	} {
		got, err := choose(found, test.major)
		if got.dir != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %q, %v, want %q, %v", name, got.dir, err, test.want, test.err)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	program := func(name, script string) string {
		bin := filepath.Join(dir, name)
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return bin
	}
	old := program("old", "echo 'postgres (PostgreSQL) 13.9'")
	broken := program("broken", "echo libicu is missing >&2; exit 127")
	p15 := program("15", "echo 'postgres (PostgreSQL) 15.1'")
	p17 := program("17", "echo 'postgres (PostgreSQL) 17.1'")
	p16 := program("16", "echo 'postgres (PostgreSQL) 16.1'")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(p17, link); err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(Config{Dir: filepath.Join(dir, "cluster")})
	if err != nil {
		t.Fatal(err)
	}
	c.tether = newTether()
	defer c.tether.close()

	got, err := c.inspect(t.Context(), []place{
		{label: "PG_BINDIR", dirs: []string{p15}, chosen: true},
		{label: "PATH", dirs: []string{p16, broken, link}},
		{label: "usual", dirs: []string{p17, old, filepath.Join(dir, "none")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []installation{{p15, 15, true}, {p17, 17, false}, {p16, 16, false}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(installation{})); diff != "" {
		t.Errorf("installations (-want +got):\n%s", diff)
	}

	_, err = c.inspect(t.Context(), []place{{label: "PATH", dirs: []string{broken, old}}, {label: "elsewhere"}})
	if !errors.Is(err, ErrNoBinaries) {
		t.Fatalf("got %v, want ErrNoBinaries", err)
	}
	for _, part := range []string{"PATH", "elsewhere", broken, "libicu is missing", "version 13 is too old"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message lacks %q: %v", part, err)
		}
	}
}

func TestPathDirs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin, links := filepath.Join(dir, "bin"), filepath.Join(dir, "links")
	for _, d := range []string{bin, links} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(bin, "initdb"), filepath.Join(links, "initdb")); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(bin)
	if err != nil {
		t.Fatal(err)
	}
	got := pathDirs(strings.Join([]string{"", ".", dir, links}, string(filepath.ListSeparator)))
	if diff := cmp.Diff([]string{real}, got); diff != "" {
		t.Errorf("directories (-want +got):\n%s", diff)
	}
}

// A pid file that names a living process of Postgres's user is what a dead postmaster leaves that
// nobody has reaped yet, or one that is busy shutting down.
func TestOpenWaitsForEarlierPostgres(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(reachableDir(t), "cluster")
	first, err := Open(t.Context(), Config{Dir: dir, Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	earlier := first.account.command("/bin/cat")
	stdin, err := earlier.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := earlier.Start(); err != nil {
		t.Fatal(err)
	}
	writePidFile(t, first, earlier.Process.Pid)

	waited := false
	logger := slog.New(onMessage(func(message string) {
		if strings.Contains(message, "waits for an earlier one") {
			waited = true
			_ = stdin.Close()
			_ = earlier.Wait()
		}
	}))
	second, err := Open(t.Context(), Config{Dir: dir, Volatile: true, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	if !waited {
		t.Error("Postgres started beside the earlier one")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// onMessage is a slog.Handler that is called with each message.
type onMessage func(message string)

func (onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (f onMessage) Handle(_ context.Context, r slog.Record) error {
	f(r.Message)
	return nil
}

func (f onMessage) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f onMessage) WithGroup(string) slog.Handler { return f }

func writePidFile(t *testing.T, c *Cluster, pid int) {
	t.Helper()
	path := filepath.Join(c.dir, pidFile)
	text := strings.Join([]string{strconv.Itoa(pid), c.dir + "/data", "1", port, c.dir, "", "", "ready"}, "\n") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.account.credential == nil {
		return
	}
	if err := os.Chown(path, int(c.account.uid), int(c.account.gid)); err != nil {
		t.Fatal(err)
	}
}

func TestTrimLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := &Cluster{dir: dir, root: root}
	lines := strings.Repeat("a line\n", maxLog/7) // just below the limit
	if err := os.WriteFile(filepath.Join(dir, logName), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.trimLog(); err != nil {
		t.Fatal(err)
	}
	if got, want := fileSize(t, filepath.Join(dir, logName)), int64(len(lines)); got != want {
		t.Errorf("a log below the limit: got %d bytes, want %d", got, want)
	}
	f, _, err := c.openLog()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "the last line\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.trimLog(); err != nil {
		t.Fatal(err)
	}
	if got, want := fileSize(t, filepath.Join(dir, logName)), int64(0); got != want {
		t.Errorf("a full log: got %d bytes, want %d", got, want)
	}
	old, err := os.ReadFile(filepath.Join(dir, oldLogName))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(old), keptLog; got != want || !strings.HasSuffix(string(old), "the last line\n") {
		t.Errorf("kept: got %d bytes, want %d and the last line", got, want)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	got := strings.Join(settings("/a b", true, map[string]string{"fsync": "on", "port": "1", "work_mem": "1MB"}), " ")
	for _, want := range []string{
		"-c fsync=on", "-c port=5432", "-c work_mem=1MB", "-c synchronous_commit=off", `-c unix_socket_directories="/a b"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("settings lack %q: %s", want, got)
		}
	}
}

func TestScratchDirHasRoom(t *testing.T) {
	t.Parallel()
	if got := ScratchDir(); got != memoryDir && got != os.TempDir() {
		t.Errorf("got %s", got)
	}
	if hasRoom(t.TempDir(), 1<<62) {
		t.Error("no disk has 4 EiB free")
	}
}

// reachableDir makes a directory that Postgres's user can reach, which t.TempDir is not for root.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(ScratchDir(), "devdb-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

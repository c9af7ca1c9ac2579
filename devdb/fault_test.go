package devdb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
)

func pidText(pid int) string { return "kill -INT " + strconv.Itoa(pid) }

// wantFault checks the kind of an error and that its message names what the user needs.
func wantFault(t *testing.T, got, want error, parts ...string) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
	for _, part := range parts {
		if !strings.Contains(got.Error(), part) {
			t.Errorf("message lacks %q: %v", part, got)
		}
	}
}

func writeFile(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// files returns the contents of all files below dir, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		got[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first := open(t, dir)
	_, err := devdb.Open(t.Context(), testConfig(t, dir))
	wantFault(t, err, devdb.ErrInUse, dir, pidText(os.Getpid()), "--data")
	closeCluster(t, first)
	open(t, dir)
}

func TestPathNotFitForSocket(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]string{"too long": strings.Repeat("x", 100), "comma": "a,b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(scratch(t), base)
			_, err := devdb.Open(t.Context(), testConfig(t, dir))
			wantFault(t, err, devdb.ErrSocketPath, dir, "--data")
			if exists(dir) {
				t.Error("the directory was made all the same")
			}
		})
	}
}

func TestParentIsClosed(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(scratch(t), "closed")
	mode := fs.FileMode(0) // to its owner too
	if os.Geteuid() == 0 {
		mode = 0o700 // root is refused nothing, but Postgres's user is
	}
	if err := os.Mkdir(parent, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(parent, 0o700) })
	_, err := devdb.Open(t.Context(), testConfig(t, filepath.Join(parent, "cluster")))
	wantFault(t, err, devdb.ErrUnreachable, parent+" is closed", "--data")
	if exists(filepath.Join(parent, "cluster")) {
		t.Error("the directory was left behind")
	}
}

func TestNoBinaries(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newDir(t))
	cfg.BinDir = scratch(t)
	_, err := devdb.Open(t.Context(), cfg)
	wantFault(t, err, devdb.ErrNoBinaries, cfg.BinDir, "no initdb there", "apt-get install", "PG_BINDIR")
	if exists(cfg.Dir) {
		t.Error("the directory was made all the same")
	}
}

func TestDataDirectoryIsLeftAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  error
		parts []string
	}{
		"of another major": {
			files: map[string]string{"data/PG_VERSION": "9999\n", "data/base/1/1": "rows"},
			want:  devdb.ErrMajor,
			parts: []string{"9999", "found are", " in /"},
		},
		"with garbage in PG_VERSION": {
			files: map[string]string{"data/PG_VERSION": "\x00garbage", "data/base/1/1": "rows"},
			want:  devdb.ErrBadData,
			parts: []string{"PG_VERSION", "garbage"},
		},
		"with an empty PG_VERSION": {
			files: map[string]string{"data/PG_VERSION": "", "data/base/1/1": "rows"},
			want:  devdb.ErrBadData,
			parts: []string{"PG_VERSION"},
		},
		"without PG_VERSION": {
			files: map[string]string{"data/base/1/1": "rows"},
			want:  devdb.ErrBadData,
			parts: []string{"PG_VERSION", "move"},
		},
		"moved to data.new": {
			files: map[string]string{"data.new/PG_VERSION": "15\n", "data.new/base/1/1": "rows"},
			want:  devdb.ErrForeign,
			parts: []string{"data.new", "move it away"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			for path, text := range test.files {
				writeFile(t, filepath.Join(dir, path), text, 0o600)
			}
			writeFile(t, filepath.Join(dir, "devdb.lock"), "", 0o600)
			_, err := devdb.Open(t.Context(), testConfig(t, dir))
			wantFault(t, err, test.want, test.parts...)
			got := files(t, dir)
			delete(got, "devdb.lock")
			if diff := cmp.Diff(test.files, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForeignDirectoryIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	writeFile(t, filepath.Join(dir, "thesis.txt"), "years of work", 0o644)
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = devdb.Open(t.Context(), testConfig(t, dir))
	wantFault(t, err, devdb.ErrForeign, dir, "--data")
	after, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := after.Mode(), before.Mode(); got != want {
		t.Errorf("mode: got %s, want %s", got, want)
	}
	if diff := cmp.Diff(map[string]string{"thesis.txt": "years of work"}, files(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestInitdbFails(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newDir(t))
	cfg.BinDir = scratch(t)
	writeFile(t, filepath.Join(cfg.BinDir, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 17.1'\n", 0o755)
	writeFile(t, filepath.Join(cfg.BinDir, "initdb"), "#!/bin/sh\necho 'initdb: error: no space' >&2\nexit 1\n", 0o755)
	_, err := devdb.Open(t.Context(), cfg)
	wantFault(t, err, devdb.ErrInitdb, "initdb: error: no space", cfg.Dir)
	open(t, cfg.Dir)
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newDir(t))
	cfg.Settings = map[string]string{"shared_buffers": "nonsense"}
	_, err := devdb.Open(t.Context(), cfg)
	wantFault(t, err, devdb.ErrStart, "postgres.log", `invalid value for parameter "shared_buffers": "nonsense"`)
	open(t, cfg.Dir)
}

package devdb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// minMajor is the oldest Postgres that Belfry's SQL runs on.
const minMajor = 14

// installation is a directory with a working initdb and postgres.
type installation struct {
	dir    string
	major  int
	chosen bool // named by Config.BinDir or PG_BINDIR: goes before newer ones
}

func (i installation) program(name string) string { return filepath.Join(i.dir, name) }

// place is somewhere to look for programs.
type place struct {
	label  string // as the error names it
	dirs   []string
	chosen bool
}

// findInstallations returns what there is, the preferred first, and ErrNoBinaries where nothing is.
func (c *Cluster) findInstallations(ctx context.Context, binDir string) ([]installation, error) {
	places := []place{{label: binDir, dirs: []string{binDir}, chosen: true}}
	if binDir == "" {
		places = c.places(ctx)
	}
	return c.inspect(ctx, places)
}

// places lists where installations may be. It looks at PATH itself, because Debian's
// postgresql-common puts wrappers there that are not the programs: what counts is where the
// symlink ends.
func (c *Cluster) places(ctx context.Context) []place {
	list := []place{
		{label: "PG_BINDIR", dirs: nonEmpty(os.Getenv("PG_BINDIR")), chosen: true},
		{label: "PATH", dirs: pathDirs(os.Getenv("PATH"))},
		{label: "pg_config --bindir", dirs: nonEmpty(c.pgConfigDir(ctx))},
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                        // PGDG on Red Hat
		"/opt/homebrew/opt/postgresql@*/bin",                      // Homebrew, Apple silicon
		"/usr/local/opt/postgresql@*/bin",                         // Homebrew, Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",         // Homebrew, Linux
		"/Applications/Postgres.app/Contents/Versions/[0-9]*/bin", // Postgres.app; "latest" is a link
	} {
		dirs, _ := filepath.Glob(pattern) // fails on a malformed pattern alone
		list = append(list, place{label: pattern, dirs: dirs})
	}
	return list
}

func (c *Cluster) pgConfigDir(ctx context.Context) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "pg_config")
		if !filepath.IsAbs(path) || !isFile(path) {
			continue
		}
		cmd := c.account.command(path, "--bindir")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := c.tether.run(ctx, cmd, syscall.SIGKILL); err == nil {
			return strings.TrimSpace(out.String())
		}
	}
	return ""
}

// pathDirs returns the directories where the initdb programs on the path really are.
func pathDirs(path string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // "." would run whatever lies in the working directory
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb")); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return dirs
}

// inspect asks each directory's postgres for its version.
func (c *Cluster) inspect(ctx context.Context, places []place) ([]installation, error) {
	var found []installation
	var report strings.Builder
	seen := map[string]bool{}
	for _, p := range places {
		fmt.Fprintf(&report, "\n  %s", p.label)
		for _, dir := range p.dirs {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real
			}
			if seen[dir] {
				continue
			}
			seen[dir] = true
			major, err := c.version(ctx, dir)
			if err != nil {
				fmt.Fprintf(&report, "\n    %s: %s", dir, err)
				continue
			}
			found = append(found, installation{dir: dir, major: major, chosen: p.chosen})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noBinaries(report.String())
	}
	slices.SortStableFunc(found, prefer)
	return found, nil
}

func noBinaries(report string) error {
	return fmt.Errorf("%w: version %d or later is needed; looked at%s\n"+
		"Install it (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; "+
		"macOS: brew install postgresql@17), or name the directory of initdb and postgres in PG_BINDIR",
		ErrNoBinaries, minMajor, report)
}

// prefer orders a chosen installation first, then the newest.
func prefer(a, b installation) int {
	if a.chosen != b.chosen {
		if a.chosen {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.major, a.major)
}

// version runs the program, since an installation whose libraries are missing is none.
func (c *Cluster) version(ctx context.Context, dir string) (int, error) {
	for _, name := range []string{"initdb", "postgres"} {
		if !isFile(filepath.Join(dir, name)) {
			return 0, fmt.Errorf("no %s there", name)
		}
	}
	cmd := c.account.command(filepath.Join(dir, "postgres"), "--version")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := c.tether.run(ctx, cmd, syscall.SIGKILL)
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("%s is closed to user %s, whom Postgres runs as", c.account.obstacle(dir), c.account.name)
	}
	if err != nil {
		return 0, fmt.Errorf("postgres does not run as user %s: %w %s",
			c.account.name, err, strings.TrimSpace(complaint.String()))
	}
	major, err := parseVersion(out.String())
	if err != nil {
		return 0, err
	}
	if major < minMajor {
		return 0, fmt.Errorf("version %d is too old", major)
	}
	return major, nil
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0)", and 19beta1 and 19devel too.
func parseVersion(text string) (int, error) {
	match := regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`).FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("postgres --version says %q", strings.TrimSpace(text))
	}
	return strconv.Atoi(match[1])
}

// choose takes the preferred installation, of the data directory's own major where there is one
// (major is not 0): no other can read it.
func choose(found []installation, major int) (installation, error) {
	if major == 0 {
		return found[0], nil
	}
	var list strings.Builder
	for _, i := range found {
		if i.major == major {
			return i, nil
		}
		fmt.Fprintf(&list, "\n  %d in %s", i.major, i.dir)
	}
	return installation{}, fmt.Errorf("%w: the data directory is of Postgres %d, found are%s\n"+
		"Install Postgres %d, name the directory of its programs in PG_BINDIR, or start anew in another directory with --data",
		ErrMajor, major, list.String(), major)
}

// dataMajor returns the major version of the data directory, 0 where there is none.
func (c *Cluster) dataMajor() (int, error) {
	if _, err := c.root.Lstat(dataName); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	name := filepath.Join(dataName, "PG_VERSION")
	f, err := c.root.Open(name)
	if err != nil {
		return 0, fmt.Errorf("%w: %w; it is left as it is: move %s away or choose another directory with --data",
			ErrBadData, err, filepath.Join(c.dir, dataName))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64)) // anything may be in there
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || major <= 0 {
		return 0, fmt.Errorf("%w: %s holds %q and not a version; it is left as it is: restore it, "+
			"or choose another directory with --data", ErrBadData, filepath.Join(c.dir, name), text)
	}
	return major, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // the paths are PATH's and PG_BINDIR's, which the user sets
	return err == nil && info.Mode().IsRegular()
}

func nonEmpty(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}

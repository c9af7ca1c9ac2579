package devdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Names in the cluster's directory.
const (
	dataName = "data"
	lockName = "devdb.lock"
)

// checkSocketPath rejects a directory in which Postgres could not make its socket, or clients not
// name it: in a connection string a comma separates one host from the next.
func checkSocketPath(dir string) error {
	socket := filepath.Join(dir, ".s.PGSQL."+port)
	if len(socket) > maxSocketPath {
		return fmt.Errorf("%w: %s would have %d bytes, the limit is %d; choose a shorter directory with --data",
			ErrSocketPath, socket, len(socket), maxSocketPath)
	}
	if strings.Contains(dir, ",") {
		return fmt.Errorf("%w: %s has a comma in its name; choose another directory with --data", ErrSocketPath, dir)
	}
	return nil
}

// prepareDir makes the cluster's directory or takes over an empty one, and makes sure that
// Postgres's user can enter it and nobody else can.
func (c *Cluster) prepareDir(ctx context.Context) error {
	made, err := c.makeDir()
	if err != nil {
		return err
	}
	if !made {
		if err := c.checkOurs(); err != nil {
			return err
		}
	}
	if err := c.takeDir(ctx); err != nil {
		if made {
			_ = os.Remove(c.dir) // empty; where it cannot be removed it does no harm
		}
		return err
	}
	c.root, err = os.OpenRoot(c.dir)
	return err
}

func (c *Cluster) makeDir() (made bool, err error) {
	// Open to all, or root's would keep Postgres's user out.
	if err := os.MkdirAll(filepath.Dir(c.dir), 0o755); err != nil { //nolint:gosec // see above
		return false, err
	}
	err = os.Mkdir(c.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// checkOurs keeps a mistyped --data from changing the owner and mode of somebody's directory.
func (c *Cluster) checkOurs() error {
	info, err := os.Stat(c.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: it is a file; choose a directory with --data", ErrForeign)
	}
	if uid, _ := owner(info); uid == c.account.uid && info.Mode().Perm() == 0o700 {
		return nil
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(c.dir, lockName)); err == nil {
		return nil
	}
	return fmt.Errorf("%w: it has contents but no cluster of belfry (no %s); choose an empty directory with --data",
		ErrForeign, lockName)
}

func (c *Cluster) takeDir(ctx context.Context) error {
	if c.account.credential != nil {
		if err := os.Chown(c.dir, int(c.account.uid), int(c.account.gid)); err != nil {
			return err
		}
	}
	if err := os.Chmod(c.dir, 0o700); err != nil { //nolint:gosec // a directory needs its x bit
		return err
	}
	return c.checkReach(ctx)
}

// checkReach lets the account itself try, since modes do not tell everything (access lists,
// mounts), and asks the modes only for the name of the obstacle.
func (c *Cluster) checkReach(ctx context.Context) error {
	probe := c.account.command("/bin/sh", "-c", ":")
	probe.Dir = c.dir
	return c.tether.run(ctx, probe, syscall.SIGKILL)
}

// explain turns a refusal of the file system into one that names the directory at fault.
func (c *Cluster) explain(err error) error {
	if !errors.Is(err, fs.ErrPermission) { // nil too
		return err
	}
	return fmt.Errorf("%w: Postgres runs as user %s, to whom %s is closed; open that directory to the user "+
		"or choose another one with --data: %w", ErrUnreachable, c.account.name, c.account.obstacle(c.dir), err)
}

// obstacle returns the topmost directory on the way to path that the account may not enter,
// and path itself where the modes show none.
func (a account) obstacle(path string) string {
	for i, r := range path {
		if r != filepath.Separator || i == 0 {
			continue
		}
		if info, err := os.Stat(path[:i]); err == nil && !a.mayEnter(info) {
			return path[:i]
		}
	}
	return path
}

func (a account) mayEnter(info fs.FileInfo) bool {
	mode, need := info.Mode().Perm(), fs.FileMode(0o001)
	switch uid, gid := owner(info); {
	case uid == a.uid:
		need = 0o100
	case gid == a.gid:
		need = 0o010
	}
	return mode&need != 0
}

// acquire takes the lock that a second Open fails on. The kernel drops it with this process.
func (c *Cluster) acquire() error {
	f, err := c.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := c.firstLine(lockName)
		_ = f.Close()
		return fmt.Errorf("%w: process %s holds it; end that process (kill -INT %s) or choose another directory with --data",
			ErrInUse, holder, holder)
	}
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("lock: %w", err)
	}
	c.lock = f
	return c.writeHolder(os.Getpid())
}

// writeHolder tells the next who tries whom the lock belongs to.
func (c *Cluster) writeHolder(pid int) error {
	if err := c.lock.Truncate(0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if _, err := c.lock.WriteAt(fmt.Appendln(nil, pid), 0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// unlock gives the lock up by name before it closes the file: a child that another goroutine
// is just starting holds a copy of the descriptor until its exec, and would hold the lock with it.
func (c *Cluster) unlock() {
	if c.lock == nil {
		return
	}
	_ = syscall.Flock(int(c.lock.Fd()), syscall.LOCK_UN) // closing it unlocks too, a moment later
	_ = c.lock.Close()
	c.lock = nil
}

// firstLine returns the first line of a file in the directory, "?" where there is none.
func (c *Cluster) firstLine(name string) string {
	text, err := c.root.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	if err != nil || line == "" {
		return "?"
	}
	return strings.TrimSpace(line)
}

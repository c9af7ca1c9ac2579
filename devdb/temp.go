package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A directory of OpenTemp is known by its name and by the marker in it.
const (
	tempPrefix     = "belfry-pg-"
	tempMarkerName = "temporary"
)

// OpenTemp opens a volatile cluster in a new directory of ScratchDir, which Close and Stop remove
// with all that is in it, and Detach keeps. It takes no Dir. A process that was killed leaves its
// directory behind, tens of megabytes of what may be memory: the next OpenTemp removes those that
// nobody holds the lock of.
func OpenTemp(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Dir != "" {
		return nil, errors.New("open temporary cluster: its directory is not for the caller to choose")
	}
	parent := ScratchDir()
	sweep(parent)
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, fmt.Errorf("open temporary cluster: %w", err)
	}
	cfg.Dir, cfg.Volatile = dir, true
	c, err := Open(ctx, cfg)
	if err == nil {
		c.temporary = true
		if err = c.root.WriteFile(tempMarkerName, nil, 0o600); err == nil {
			return c, nil
		}
		err = errors.Join(err, c.Close())
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// sweep removes what killed processes have left. It never stops a start: what it may not read or
// cannot remove is another user's or will be there the next time.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*")) // fails on a malformed pattern alone
	for _, dir := range dirs {
		if isAbandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

// isAbandoned tells a finished process's directory by its free lock. A directory without the
// marker may be one that is just being opened.
func isAbandoned(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	if _, err := root.Lstat(tempMarkerName); err != nil {
		return false
	}
	lock, err := root.Open(lockName)
	if err != nil {
		return false
	}
	defer lock.Close() // and with it the lock, for nobody opens a directory of OpenTemp again
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

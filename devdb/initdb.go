package devdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A new data directory is made as data.new/data and renamed to data when it is complete, so that
// data never names half a one. The marker beside it tells data.new from a finished data directory
// that somebody has moved there; only what has the marker, or is empty, is ever removed.
const (
	newName    = "data.new"
	markerName = "unfinished"
)

// removeTimeout bounds the wait for the last child of an initdb that was killed, which goes on
// for some milliseconds.
const (
	removeTimeout = 5 * time.Second
	removePoll    = 10 * time.Millisecond
)

// initialise clears up after an interrupted attempt and, where missing is true, makes the data
// directory with the database Database in it.
func (c *Cluster) initialise(ctx context.Context, missing bool) error {
	if err := c.removeUnfinished(ctx); err != nil || !missing {
		return err
	}
	if err := c.makeUnfinished(); err != nil {
		return fmt.Errorf("%w: %w", ErrInitdb, err)
	}
	target := filepath.Join(c.dir, newName, dataName)
	if err := c.initdb(ctx, target); err != nil {
		return err
	}
	if err := c.createDatabase(ctx, target); err != nil {
		return err
	}
	if err := c.root.Rename(filepath.Join(newName, dataName), dataName); err != nil {
		return fmt.Errorf("%w: %w", ErrInitdb, err)
	}
	if err := c.syncDir(); err != nil {
		return err
	}
	c.logger.InfoContext(ctx, "postgres data directory made", "dir", c.dir, "major", c.install.major)
	return c.removeUnfinished(ctx)
}

// syncDir makes the rename last: Postgres syncs what is in its data directory, not the name of it.
func (c *Cluster) syncDir() error {
	if c.volatile {
		return nil
	}
	dir, err := c.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func (c *Cluster) makeUnfinished() error {
	if err := c.root.Mkdir(newName, 0o700); err != nil {
		return err
	}
	if err := c.root.WriteFile(filepath.Join(newName, markerName), nil, 0o600); err != nil {
		return err
	}
	if c.account.credential == nil {
		return nil
	}
	return c.root.Chown(newName, int(c.account.uid), int(c.account.gid))
}

// removeUnfinished removes the marker last, so that it may itself be interrupted.
func (c *Cluster) removeUnfinished(ctx context.Context) error {
	entries, err := fs.ReadDir(c.root.FS(), newName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := c.root.Lstat(filepath.Join(newName, markerName)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%w: %s was not left by an interrupted initdb (no file %q in it); move it away",
			ErrForeign, filepath.Join(c.dir, newName), markerName)
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	poll(ctx, func() bool { return !c.standaloneRuns() })
	for _, name := range []string{filepath.Join(newName, dataName), newName} {
		poll(ctx, func() bool { err = c.root.RemoveAll(name); return err == nil })
		if err != nil {
			return fmt.Errorf("clear up after an interrupted initdb: %w", err)
		}
	}
	return nil
}

// standaloneRuns tells whether the server that initdb works with is still up. It ends by itself
// when initdb is gone, but crashes, and leaves shared memory behind, when its files are removed
// before that. Such a server writes its process id with a minus sign.
func (c *Cluster) standaloneRuns() bool {
	pid, err := strconv.Atoi(strings.TrimPrefix(c.firstLine(filepath.Join(newName, pidFile)), "-"))
	return err == nil && syscall.Kill(pid, 0) == nil
}

// poll asks for done until it is, or ctx ends, and at least once.
func poll(ctx context.Context, done func() bool) {
	tick := time.NewTicker(removePoll)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// initdb fixes encoding and locale, so that texts sort alike on every machine and in every version.
func (c *Cluster) initdb(ctx context.Context, target string) error {
	args := []string{
		"--pgdata=" + target, "--username=" + superuser, "--auth=trust",
		"--encoding=UTF8", "--locale=C",
	}
	switch {
	case !c.volatile:
		args = append(args, "--data-checksums")
	case c.install.major >= 18: // checksums have become the default there
		args = append(args, "--no-sync", "--wal-segsize=1", "--no-data-checksums")
	default:
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	cmd := c.account.command(c.install.program("initdb"), args...)
	// SIGKILL, because initdb answers others by removing its target some time later: by then that
	// name may belong to the next process's attempt. Its children end with the pipe from it.
	return c.runInitdb(ctx, cmd, syscall.SIGKILL)
}

// createDatabase uses single-user mode, which needs no running server and no client.
func (c *Cluster) createDatabase(ctx context.Context, target string) error {
	args := []string{"--single", "-D", target, "-c", "exit_on_error=on", "-c", "log_checkpoints=off"}
	if c.volatile {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	cmd := c.account.command(c.install.program("postgres"), append(args, "postgres")...)
	cmd.Stdin = strings.NewReader("CREATE DATABASE " + Database + "\n")
	return c.runInitdb(ctx, cmd, syscall.SIGTERM) // a killed server leaves shared memory behind
}

// runInitdb runs one program on the unfinished directory and puts its complaint in the error.
func (c *Cluster) runInitdb(ctx context.Context, cmd *exec.Cmd, s syscall.Signal) error {
	program := cmd.Path
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	err := c.tether.run(ctx, cmd, s)
	if err == nil {
		return nil
	}
	text := lastLines(complaint.String(), errorLines)
	if strings.Contains(text, "could not look up effective user ID") {
		text += "\nThis user id has no entry in the passwd file, which initdb needs: add one, or run as another user"
	}
	return fmt.Errorf("%w: %s in %s: %w%s", ErrInitdb, program, c.dir, err, text)
}

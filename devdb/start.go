package devdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	readyPoll = 5 * time.Millisecond
	heldPoll  = 100 * time.Millisecond
	// heldTimeout bounds the wait for an earlier Postgres on the same data. The dead one of a
	// killed process stays a zombie for some seconds, a busy one takes its time to shut down.
	heldTimeout = 30 * time.Second
)

// errHeld is a start that an earlier Postgres on the same data directory stands in the way of.
var errHeld = errors.New("an earlier Postgres still holds the data directory")

// settings returns the -c arguments: given settings go before the volatile ones, but what URL
// and the search for the server rely on is fixed.
func settings(dir string, volatile bool, given map[string]string) []string {
	all := map[string]string{}
	if volatile {
		all["fsync"] = "off"
		all["full_page_writes"] = "off"
		all["synchronous_commit"] = "off"
		all["max_wal_size"] = "64MB"
	}
	maps.Copy(all, given)
	maps.Copy(all, map[string]string{
		"listen_addresses":        "",
		"port":                    port,
		"unix_socket_directories": `"` + strings.ReplaceAll(dir, `"`, `""`) + `"`, // a list: quoted for spaces
		"unix_socket_permissions": "0700",
		"logging_collector":       "off", // lines go to the descriptor that trimLog looks after
		"log_destination":         "stderr",
	})
	args := make([]string, 0, 2*len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, "-c", name+"="+all[name])
	}
	return args
}

// startPatiently starts Postgres, again and again while an earlier one on the same data is going.
func (c *Cluster) startPatiently(ctx context.Context) (*process, error) {
	deadline := time.NewTimer(heldTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(heldPoll)
	defer tick.Stop()
	for first := true; ; first = false {
		p, err := c.startTethered(ctx)
		if !errors.Is(err, errHeld) {
			return p, err
		}
		if first {
			c.logger.InfoContext(ctx, "postgres waits for an earlier one to end", "dir", c.dir)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			pid := c.firstLine(pidFile)
			return nil, fmt.Errorf("%w: Postgres %s runs on it; end it (kill -INT %s) or choose another directory with --data: %w",
				ErrInUse, pid, pid, err)
		}
	}
}

func (c *Cluster) startTethered(ctx context.Context) (*process, error) {
	return c.start(ctx, func(cmd *exec.Cmd) (*process, error) {
		return c.tether.start(cmd, syscall.SIGINT)
	})
}

// start launches Postgres and waits until it takes connections.
func (c *Cluster) start(ctx context.Context, launch func(*exec.Cmd) (*process, error)) (*process, error) {
	log, from, err := c.openLog()
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	defer log.Close() // the child has its own copy
	args := append([]string{"-D", filepath.Join(c.dir, dataName)}, c.settings...)
	cmd := c.account.command(c.install.program("postgres"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	began := time.Now()
	p, err := launch(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	if err := c.waitReady(ctx, p, from); err != nil {
		return nil, err
	}
	c.pid.Store(int64(p.pid))
	c.logger.InfoContext(ctx, "postgres is ready",
		"pid", p.pid, "major", c.install.major, "dir", c.dir, "took", time.Since(began))
	return p, nil
}

func (c *Cluster) waitReady(ctx context.Context, p *process, from int64) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for !c.isReady(p.pid) {
		select {
		case <-p.exited:
			return c.startError(p.err, from)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), c.end(p, nil))
		case <-tick.C:
		}
	}
	return nil
}

// pidFile is Postgres's own, with a fixed meaning for each line.
var pidFile = filepath.Join(dataName, "postmaster.pid")

// The lines of postmaster.pid, as in Postgres's src/include/utils/pidfile.h.
const (
	pidLine    = 0
	statusLine = 7
)

// isReady reads from postmaster.pid whether the server takes connections, as pg_ctl does. The
// file may still be an earlier server's, hence the process id.
func (c *Cluster) isReady(pid int) bool {
	text, err := c.root.ReadFile(pidFile)
	if err != nil {
		return false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) <= statusLine || lines[pidLine] != strconv.Itoa(pid) {
		return false
	}
	status := strings.TrimSpace(lines[statusLine])
	return status == "ready" || status == "standby"
}

// startError tells a start that may soon succeed from one that will not.
func (c *Cluster) startError(err error, from int64) error {
	text := c.logSince(from)
	lines := lastLines(text, errorLines)
	if isHeld(text) {
		return fmt.Errorf("%w: %w%s", ErrStart, errHeld, lines)
	}
	if err == nil {
		err = errors.New("ended before it was ready")
	}
	return fmt.Errorf("%w: %w; the end of %s:%s", ErrStart, err, filepath.Join(c.dir, logName), lines)
}

// isHeld knows Postgres's three ways to say that another server is, or seems to be, alive: the
// pid file, the socket's lock file, and shared memory that a dead server's children still use.
func isHeld(text string) bool {
	return strings.Contains(text, "lock file ") && strings.Contains(text, " already exists") ||
		strings.Contains(text, "pre-existing shared memory block")
}

// launchDetached starts Postgres as nobody's child: it outlives this process and keeps the lock
// on the directory, whose descriptor it inherits.
func (c *Cluster) launchDetached(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr.Setpgid = false // a new session is a new group
	cmd.SysProcAttr.Setsid = true
	cmd.ExtraFiles = []*os.File{c.lock}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return await(cmd, nil), nil
}

package devdb

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// process is a child that is being waited for.
type process struct {
	pid    int
	exited chan struct{} // closed when the child has ended
	err    error         // how it ended; valid once exited is closed
}

// await waits for a started command in the background and calls ended, if any, once it is gone.
func await(cmd *exec.Cmd, ended func()) *process {
	p := &process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
		if ended != nil {
			ended()
		}
	}()
	return p
}

// signal reaches the process unless it is known to have ended, when its id may be another's.
func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.exited:
	default:
		_ = syscall.Kill(p.pid, s) // fails where the process has just ended, which is the aim
	}
}

// waitFor tells whether the process ended within d and before hurry was closed.
func (p *process) waitFor(d time.Duration, hurry <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-hurry:
		return false
	case <-timer.C:
		return false
	}
}

// run runs a short command to its end. It gets the signal when this process dies, and is ended
// when ctx ends.
func (t *tether) run(ctx context.Context, cmd *exec.Cmd, s syscall.Signal) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd.WaitDelay = time.Second // for a pipe that a grandchild holds open
	p, err := t.start(cmd, s)
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
	}
	// The group, for initdb has children: asked first, as they give shared memory back when they
	// are not killed.
	_ = syscall.Kill(-p.pid, syscall.SIGTERM)
	if !p.waitFor(runTimeout, nil) {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		<-p.exited
	}
	return ctx.Err()
}

// runTimeout is how long a short command may take to end when it is asked to.
const runTimeout = 2 * time.Second

// Limits of a shutdown, step by step.
const (
	fastTimeout      = 10 * time.Second
	immediateTimeout = 5 * time.Second
)

var errStuck = errors.New("postgres does not end, not even by SIGKILL")

// end shuts Postgres down fast, which disconnects the clients and writes everything out; when
// that takes too long or hurry is closed, immediately, which costs the next start a recovery.
func (c *Cluster) end(p *process, hurry <-chan struct{}) error {
	if p == nil {
		return nil
	}
	p.signal(syscall.SIGINT)
	if p.waitFor(fastTimeout, hurry) {
		return nil
	}
	c.logger.Warn("postgres is slow to stop, it is stopped at once", "pid", p.pid)
	p.signal(syscall.SIGQUIT)
	if p.waitFor(immediateTimeout, nil) {
		return nil
	}
	p.signal(syscall.SIGKILL)
	if p.waitFor(immediateTimeout, nil) {
		return nil
	}
	return errStuck
}

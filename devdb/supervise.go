package devdb

import (
	"context"
	"errors"
	"os"
	"time"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
	// steady is how long Postgres must have run for the next restart to be an immediate one.
	steady   = 10 * time.Second
	logCheck = time.Minute
)

// restart is a request to the supervisor; the answer is sent once.
type restart struct {
	ctx    context.Context
	answer chan<- error
}

// supervise owns the running process until ctx ends, and leaves it in c.current.
func (c *Cluster) supervise(ctx context.Context) {
	defer close(c.supervised)
	trim := time.NewTicker(logCheck)
	defer trim.Stop()
	pause, began := minBackoff, time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-c.current.exited:
			c.pid.Store(0)
			c.logger.WarnContext(ctx, "postgres ended by itself, it is started again",
				"pid", c.current.pid, "error", c.current.err)
			if time.Since(began) > steady {
				pause = minBackoff
			}
			c.current, pause = c.revive(ctx, pause)
			began = time.Now()
		case r := <-c.restarts:
			r.answer <- c.replace(ctx, r.ctx)
			began = time.Now()
		case <-trim.C:
			if err := c.trimLog(); err != nil {
				c.logger.WarnContext(ctx, "postgres log not trimmed", "error", err)
			}
		}
	}
}

// revive starts Postgres until it runs, with pauses that double, and returns the next pause; the
// process is nil when ctx has ended first. It never gives up: what stands in the way may be a
// full disk that somebody is clearing.
func (c *Cluster) revive(ctx context.Context, pause time.Duration) (*process, time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return nil, pause
		case <-time.After(pause):
		}
		pause = min(2*pause, maxBackoff)
		p, err := c.startPatiently(ctx)
		if err == nil {
			return p, pause
		}
		if ctx.Err() == nil {
			c.logger.ErrorContext(ctx, "postgres not started", "error", err, "retry_in", pause)
		}
	}
}

// replace ends the running process and starts another. Where that fails, the ended one stays
// current, and the supervisor takes its end for a death to be mended. The end of the cluster's
// lifetime ends the wait too, or a Close would have to sit it out.
func (c *Cluster) replace(lifetime, ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(lifetime, cancel)()
	if err := c.end(c.current, ctx.Done()); err != nil {
		return err
	}
	c.pid.Store(0)
	p, err := c.startPatiently(ctx)
	if err != nil {
		return err
	}
	c.current = p
	return nil
}

// Restart shuts Postgres down and starts it again, and returns when it takes connections.
// Clients lose theirs. When ctx ends early the supervisor goes on trying.
func (c *Cluster) Restart(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case c.restarts <- restart{ctx: ctx, answer: answer}:
		return <-answer
	case <-c.supervised:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends Postgres and gives the directory free: a fast shutdown, after 10 s an immediate one.
// Clients lose their connections. A second call does nothing.
func (c *Cluster) Close() error { return c.stop(nil) }

// Stop is Close with a say over the wait: when ctx ends, Postgres is shut down immediately. That
// costs the next start a recovery but no commit, unless the cluster is volatile.
func (c *Cluster) Stop(ctx context.Context) error { return c.stop(ctx.Done()) }

func (c *Cluster) stop(hurry <-chan struct{}) error {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	c.dismiss()
	err := c.end(c.current, hurry)
	c.pid.Store(0)
	if c.temporary && err == nil {
		err = os.RemoveAll(c.dir)
	}
	c.release()
	return err
}

// dismiss ends the supervision; Postgres itself runs on.
func (c *Cluster) dismiss() {
	c.cancel()
	<-c.supervised
}

// Detach restarts Postgres so that it outlives this process, for somebody to look at the data
// after a failed test, and closes the cluster without ending it. URL stays valid; Pid tells whom
// to send SIGINT to stop it. The directory stays in use until then. After an error
// Postgres is down and the directory free.
func (c *Cluster) Detach(ctx context.Context) error {
	c.ending.Lock()
	defer c.ending.Unlock()
	if c.ended {
		return ErrClosed
	}
	c.ended = true
	c.dismiss()
	err := c.end(c.current, ctx.Done())
	c.pid.Store(0)
	if err == nil {
		err = c.detach(ctx)
	}
	c.release()
	return err
}

func (c *Cluster) detach(ctx context.Context) error {
	p, err := c.start(ctx, c.launchDetached)
	if err != nil {
		return err
	}
	if err := c.writeHolder(p.pid); err != nil {
		return errors.Join(err, c.end(p, nil))
	}
	lock := c.lock
	c.lock = nil // closed here, but not unlocked: the lock is Postgres's now
	return lock.Close()
}

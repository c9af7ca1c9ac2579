// Package retention removes what is old, and users who are to be forgotten: in batches that follow an index,
// with pauses in which others work, so that it may take its time and nobody notices.
package retention

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"belfry/storage"
)

// TTL is how long things are kept; for ever where it is zero.
type TTL struct {
	// Notifications is for all of a user's notifications, ReadNotifications for those that are read. The
	// age of both counts from when they were created.
	Notifications, ReadNotifications time.Duration
	// Claims is how long an event that is sent again is known to be the same.
	Claims time.Duration
	// Pushes is for the ledger of what became of pushes, for the lines that are settled.
	Pushes time.Duration
}

// The defaults of a server.
const (
	DefaultClaims = 30 * 24 * time.Hour
	DefaultPushes = 90 * 24 * time.Hour
)

// Config says what a janitor works with.
type Config struct {
	Store  *storage.Store
	TTL    TTL
	Logger *slog.Logger
	// Changed is told of users whose inbox has changed, after the commit.
	Changed func(userIDs ...string)
	// Interval is how often what is old is looked for. Default 10 min.
	Interval time.Duration
	// EraseTimeout is how long EraseUser works before it leaves the rest to Run. Default 20 s.
	EraseTimeout time.Duration
	// ErasureIdle is how long nobody has worked at an erasure before Run takes it up: longer than any
	// statement. Default 1 min.
	ErasureIdle time.Duration
}

// Janitor removes what is old and erases users. Any number of processes may have one: one of them sweeps.
type Janitor struct {
	cfg Config
}

// New returns a janitor that works once Run is called, or Sweep, or EraseUser.
func New(cfg Config) *Janitor {
	cfg.Interval = cmp.Or(cfg.Interval, 10*time.Minute)
	cfg.EraseTimeout = cmp.Or(cfg.EraseTimeout, 20*time.Second)
	cfg.ErasureIdle = cmp.Or(cfg.ErasureIdle, time.Minute)
	return &Janitor{cfg}
}

// Run sweeps, and finishes the erasures that were cut off, until ctx ends.
func (j *Janitor) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() {
		every(ctx, j.cfg.Interval, func() {
			// Half of it, since each process has a clock and a start of its own.
			swept, _, err := j.Sweep(ctx, j.cfg.Interval/2)
			for _, s := range swept {
				if s.Rows > 0 {
					j.cfg.Logger.Info("swept", "kind", s.Kind, "rows", s.Rows, "duration_ms", s.Took.Milliseconds())
				}
			}
			if err != nil && ctx.Err() == nil {
				j.cfg.Logger.Warn("sweep not finished", "error", err.Error())
			}
		})
	})
	group.Go(func() {
		every(ctx, j.cfg.ErasureIdle, func() {
			if err := j.finishErasures(ctx); err != nil && ctx.Err() == nil {
				j.cfg.Logger.Warn("erasures not finished", "error", err.Error())
			}
		})
	})
	group.Wait()
}

// every calls step at once and then after each interval.
func every(ctx context.Context, interval time.Duration, step func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		step()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// changed tells of users, if there are any.
func (j *Janitor) changed(userIDs []string) {
	if len(userIDs) > 0 {
		j.cfg.Changed(userIDs...)
	}
}

// inBatches takes steps until the last one, with pauses between them.
func inBatches(ctx context.Context, step func() (isLast bool, err error)) error {
	for {
		began := time.Now()
		isLast, err := step()
		if err != nil || isLast {
			return err
		}
		if err := pause(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// minPause is the shortest pause between two batches.
const minPause = 4 * time.Millisecond

// pause leaves the database to others for three times as long as a batch has taken, so that one of its
// processes is busy with this for a quarter of the time at most, however slow it is.
func pause(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(max(3*took, minPause))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

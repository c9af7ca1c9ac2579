package expo

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	slowest  = 16               // the part of its limit that a slowed pacer keeps at least
	recovery = time.Minute      // how long it takes from a standstill to the limit
	patience = time.Second      // the pause after a 429 without Retry-After
	longest  = 15 * time.Minute // the longest pause that a Retry-After can ask for
)

// pacer spaces requests so that their messages stay within a rate. After n messages the next request waits
// for n/rate: there is no burst, since Expo does not say over what time it counts, and a request that a
// network holds up arrives closer to the next. A 429 halves the rate, which then recovers with time.
type pacer struct {
	limit float64 // messages a second; none where it is negative

	mu     sync.Mutex
	rate   float64 // all below is guarded by mu
	at     time.Time
	free   time.Time // when the next request may begin
	pause  time.Time // when it may, if that is later
	slowed time.Time
}

func newPacer(limit int) *pacer {
	return &pacer{limit: float64(limit), rate: float64(limit)}
}

// pausedError is a turn that would come after the context's deadline.
type pausedError struct{ wait time.Duration }

// Error implements error.
func (e *pausedError) Error() string { return fmt.Sprintf("no turn for %s", e.wait) }

// wait waits for the turn of a request of n messages. Where it would come too late for ctx, it says so at
// once and takes no turn.
func (p *pacer) wait(ctx context.Context, n int) error {
	start, err := p.reserve(ctx, n, time.Now())
	if err != nil {
		return err
	}
	delay := time.Until(start)
	if delay <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pacer) reserve(ctx context.Context, n int, now time.Time) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start := now
	for _, t := range []time.Time{p.free, p.pause} {
		if t.After(start) {
			start = t
		}
	}
	if deadline, ok := ctx.Deadline(); ok && start.After(deadline) {
		return time.Time{}, &pausedError{start.Sub(now)}
	}
	if p.limit > 0 && n > 0 {
		p.recover(now)
		p.free = start.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	}
	return start, nil
}

// recover raises a rate that was slowed; p.mu is held.
func (p *pacer) recover(now time.Time) {
	if p.rate < p.limit {
		p.rate = min(p.limit, p.rate+p.limit*now.Sub(p.at).Seconds()/recovery.Seconds())
	}
	p.at = now
}

// slow halves the rate and pauses, for a second where after is 0. Requests that were under way together
// are refused together and count once. It returns the pause.
func (p *pacer) slow(after time.Duration, now time.Time) time.Duration {
	if after <= 0 {
		after = patience
	}
	after = min(after, longest)
	p.mu.Lock()
	if p.limit > 0 && now.Sub(p.slowed) >= time.Second {
		p.recover(now)
		p.rate, p.slowed = max(p.rate/2, p.limit/slowest), now
	}
	p.mu.Unlock()
	p.stop(after, now)
	return after
}

// stop lets no request begin for a while.
func (p *pacer) stop(d time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := now.Add(d); until.After(p.pause) {
		p.pause = until
	}
}

package exposim

import "time"

// bucket holds the messages that a project may send at once: as many as its limit allows in a second.
type bucket struct {
	tokens float64
	filled time.Time
}

// take reports whether n messages may pass at the time, and takes them if so. s.mu is held.
func (s *Simulator) take(project string, n int, now time.Time) bool {
	if s.config.Limit < 0 {
		return true
	}
	limit := float64(s.config.Limit)
	b, ok := s.buckets[project]
	if !ok {
		b = &bucket{tokens: limit, filled: now}
		s.buckets[project] = b
	}
	b.tokens = min(limit, b.tokens+limit*now.Sub(b.filled).Seconds())
	b.filled = now
	// A clock counts in whole nanoseconds, so a bucket can lack a billionth of what it has earned.
	if b.tokens+1e-6 < float64(n) {
		return false
	}
	b.tokens -= float64(n)
	return true
}

package live

import (
	"math/rand/v2"
	"time"
)

// The shortest and the longest pause of a Backoff.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Backoff gives the pauses between tries: each up to twice as long as the one before, from 0.1 s to 5 s,
// and random in its upper half so that many processes do not come back at once. The zero value is ready.
type Backoff struct {
	last time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	//nolint:gosec // Spreading load takes no secret.
	return b.last/2 + rand.N(b.last/2)
}

package live

import (
	"context"
	"time"

	"belfry/inbox"
)

// badgeSubscriber is one subscription to a badge, whatever it makes of it. The hub's mu guards it.
type badgeSubscriber interface {
	// knows reports whether the subscriber has had this badge as its newest one.
	knows(b inbox.Badge) bool
	// readyAt is when it may have another one: at once where it has had none.
	readyAt() time.Time
	// offer hands it a badge; one that it has not taken yet is replaced.
	offer(userID string, b inbox.Badge, now time.Time)
}

// badgeChannel turns badges into what a channel takes.
type badgeChannel[T any] struct {
	out     chan T
	wake    func()
	payload func(userID string, b inbox.Badge) T
	last    inbox.Badge
	sentAt  time.Time // zero before the first
}

func (c *badgeChannel[T]) knows(b inbox.Badge) bool { return !c.sentAt.IsZero() && c.last.Shows(b) }

func (c *badgeChannel[T]) readyAt() time.Time { return c.sentAt.Add(minInterval) }

func (c *badgeChannel[T]) offer(userID string, b inbox.Badge, now time.Time) {
	// The hub is the only sender, so after this there is room.
	select {
	case <-c.out:
	default:
	}
	c.out <- c.payload(userID, b)
	c.wake()
	c.last, c.sentAt = b, now
}

// SubscribeBadge returns a channel that has the user's badge soon and then again whenever it changes, at
// most every 100 ms. It holds one value, the newest: who reads slowly misses what has been replaced. The
// subscription ends with ctx; the channel is never closed.
//
// The payload is made where the value is handed out, so that no goroutine has to stand between.
func SubscribeBadge[T any](ctx context.Context, h *Hub, userID string, payload func(userID string, b inbox.Badge) T) <-chan T {
	c := &badgeChannel[T]{out: make(chan T, 1), payload: payload}
	c.wake = inbox.FollowedBy(ctx, func() int { return len(c.out) })
	h.join(userID, func(u *user) {
		if u.badges == nil {
			u.badges = map[badgeSubscriber]struct{}{}
		}
		u.badges[c] = struct{}{}
	})
	context.AfterFunc(ctx, func() {
		h.leave(userID, func(u *user) { delete(u.badges, c) })
	})
	return c.out
}

// offerBadge hands a badge to those who do not have it. It returns how many that were, and when the first
// of those may have it who had another less than 100 ms ago; the zero Time where there is none.
func (u *user) offerBadge(userID string, b inbox.Badge, now time.Time) (sent int, again time.Time) {
	for s := range u.badges {
		if s.knows(b) {
			continue
		}
		if at := s.readyAt(); at.After(now) {
			if again.IsZero() || at.Before(again) {
				again = at
			}
			continue
		}
		s.offer(userID, b, now)
		sent++
	}
	return sent, again
}

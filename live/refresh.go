package live

import (
	"context"
	"sync"
	"time"

	"belfry/inbox"
)

// Run reads what has changed and hands it out until ctx ends. It returns when the broker has ended too.
func (h *Hub) Run(ctx context.Context) {
	var broker sync.WaitGroup
	defer broker.Wait()
	broker.Go(func() { h.cfg.Broker.Run(ctx, h.heard, h.Resync) })
	sweep := time.NewTicker(sweepInterval)
	defer sweep.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		batch, wait := h.due(time.Now())
		if len(batch) > 0 {
			wait = max(minGap, time.Duration(h.refresh(ctx, batch))*h.budget)
		}
		timer.Reset(wait)
		wake := h.wake
		if len(batch) > 0 {
			wake = nil // the gap is to be kept
		}
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			h.Resync()
		case <-wake:
		case <-timer.C:
		}
	}
}

// due takes the users that may be read now off the dirty ones. Without any it returns how long it takes
// until there is one.
func (h *Hub) due(now time.Time) (map[string]*user, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := sweepInterval
	var batch map[string]*user
	for id, u := range h.dirty {
		at := u.notBefore
		if u.hasNew {
			at = time.Time{}
		}
		if at.Before(u.retryAt) {
			at = u.retryAt
		}
		if d := at.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		if batch == nil {
			batch = map[string]*user{}
		}
		batch[id] = u
		delete(h.dirty, id)
		if len(batch) == maxBatch {
			break
		}
	}
	return batch, wait
}

// refresh reads the users of a batch and hands out what is new. It returns how many events that were.
// What changes during the read makes a user dirty again.
func (h *Hub) refresh(ctx context.Context, batch map[string]*user) int {
	ids, feedIDs, marked := h.begin(batch)
	badges, feeds, err := h.read(ctx, ids, feedIDs)
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			h.cfg.Logger.Warn("live state not read", "users", len(batch), "error", err.Error())
		}
		h.putBack(batch, marked, now.Add(retryDelay))
		return 0
	}
	events := 0
	for id, u := range batch {
		if h.users[id] != u {
			continue // everybody has left meanwhile
		}
		badge := badges[id]
		sent := 0
		if feed, ok := feeds[id]; ok {
			badge = feed.Badge
			sent = u.offerFeed(id, feed, marked[id])
		}
		n, again := u.offerBadge(id, badge, now)
		if !again.IsZero() {
			h.dirty[id] = u
			u.notBefore = again
		} else if sent+n > 0 {
			u.notBefore = now.Add(minInterval)
		}
		events += sent + n
	}
	return events
}

// begin returns whose badges and whose feeds are to be read, and takes the mark-alls made until now.
func (h *Hub) begin(batch map[string]*user) (badgeIDs, feedIDs []string, marked map[string][]MarkedAll) {
	h.mu.Lock()
	defer h.mu.Unlock()
	marked = map[string][]MarkedAll{}
	for id, u := range batch {
		u.hasNew = false
		if len(u.feeds) == 0 {
			badgeIDs = append(badgeIDs, id)
			continue
		}
		feedIDs = append(feedIDs, id)
		if len(u.marked) > 0 {
			marked[id], u.marked = u.marked, nil
		}
	}
	return badgeIDs, feedIDs, marked
}

// putBack undoes begin for a read that failed. It is called with h.mu held.
func (h *Hub) putBack(batch map[string]*user, marked map[string][]MarkedAll, retryAt time.Time) {
	for id, u := range batch {
		if h.users[id] != u {
			continue
		}
		u.retryAt, u.hasNew = retryAt, true
		u.marked = append(marked[id], u.marked...)
		h.dirty[id] = u
	}
}

func (h *Hub) read(ctx context.Context, badgeIDs, feedIDs []string) (
	badges map[string]inbox.Badge, feeds map[string]FeedState, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if len(badgeIDs) > 0 {
		if badges, err = h.cfg.ReadBadges(ctx, badgeIDs); err != nil {
			return nil, nil, err
		}
	}
	if len(feedIDs) > 0 {
		feeds, err = h.cfg.ReadFeeds(ctx, feedIDs)
	}
	return badges, feeds, err
}

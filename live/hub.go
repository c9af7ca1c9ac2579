// Package live tells subscribers what has changed. A badge is a level, not an edge: what travels, within
// the process and between processes, is "user X changed", a hint. The hub then reads the state again, once
// for all subscribers of all users that have changed, and hands each the newest. Hints may come twice or
// late; lost ones are made good by a sweep.
package live

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"belfry/inbox"
)

const (
	// minInterval is the least time between two events for one subscriber.
	minInterval = 100 * time.Millisecond
	// minGap is the least time between two reads: what changes meanwhile is read together.
	minGap = 5 * time.Millisecond
	// maxBatch is the most users that one read is for.
	maxBatch = 1000
	// sweepInterval is how often all connected users are read again, for the hints that were lost.
	sweepInterval = 30 * time.Second
	// retryDelay is how long a user waits for the next try after a read has failed.
	retryDelay = time.Second
	// readTimeout bounds a read.
	readTimeout = 5 * time.Second
	// eventsPerCore is how many events a second the hub hands out for each core, sustained. Above that
	// rate events come later and fewer, since the newest state replaces what came before it: rendering
	// badges must not take the time that dispatches need.
	eventsPerCore = 500
)

// Config says where a hub reads and how it hears of other processes.
type Config struct {
	// ReadBadges returns each user's counters.
	ReadBadges func(ctx context.Context, userIDs []string) (map[string]inbox.Badge, error)
	// ReadFeeds returns each user's counters and newest notifications, both as of one moment.
	ReadFeeds func(ctx context.Context, userIDs []string) (map[string]FeedState, error)
	Broker    Broker
	Logger    *slog.Logger
}

// Hub knows who is subscribed in this process. It is safe for concurrent use.
type Hub struct {
	cfg    Config
	budget time.Duration // for one event: see eventsPerCore
	wake   chan struct{}

	mu    sync.Mutex
	users map[string]*user // guarded by mu: those with subscribers
	dirty map[string]*user // guarded by mu: those of users that have to be read again
}

// user is what the hub knows of a user with subscribers. All of it is guarded by the hub's mu.
type user struct {
	badges map[badgeSubscriber]struct{}
	feeds  map[*feedSubscriber]struct{}
	// hasNew is set while a subscriber waits for the present state: it need not wait for notBefore.
	hasNew bool
	// notBefore is when the established subscribers may hear again.
	notBefore time.Time
	// retryAt is when a read may be tried again after one that failed.
	retryAt time.Time
	// window is what the feed's subscribers know; nil without any.
	window *window
	// marked holds the mark-alls that this process has made since the last read.
	marked []MarkedAll
}

// NewHub returns a hub that works once Run is called.
func NewHub(cfg Config) *Hub {
	return &Hub{
		cfg:    cfg,
		budget: time.Second / time.Duration(eventsPerCore*runtime.GOMAXPROCS(0)),
		wake:   make(chan struct{}, 1),
		users:  map[string]*user{},
		dirty:  map[string]*user{},
	}
}

// Changed tells the subscribers of users here and in other processes that something of theirs has
// changed. Call it after the commit. It does not block.
func (h *Hub) Changed(userIDs ...string) {
	if len(userIDs) == 0 {
		return
	}
	h.heard(userIDs)
	h.cfg.Broker.Publish(userIDs)
}

// MarkedAll is a mark-all as a rule: what was created at or before Through, in one of Categories (nil is
// all), is read at ReadAt.
type MarkedAll struct {
	Through, ReadAt time.Time
	Categories      []string
}

// ChangedAll is Changed for a mark-all, which subscribers in this process hear of as the rule it is.
// Those in others find that much has been read.
func (h *Hub) ChangedAll(userID string, m MarkedAll) {
	h.mu.Lock()
	if u := h.users[userID]; u != nil && len(u.feeds) > 0 {
		u.marked = append(u.marked, m)
	}
	h.mu.Unlock()
	h.Changed(userID)
}

// heard marks users to be read again.
func (h *Hub) heard(userIDs []string) {
	h.mu.Lock()
	found := false
	for _, id := range userIDs {
		if u := h.users[id]; u != nil {
			h.dirty[id] = u
			found = true
		}
	}
	h.mu.Unlock()
	if found {
		h.signal()
	}
}

// Resync reads every connected user again: hints may have been lost.
func (h *Hub) Resync() {
	h.mu.Lock()
	for id, u := range h.users {
		h.dirty[id] = u
	}
	h.mu.Unlock()
	h.signal()
}

// signal wakes Run. One signal is enough for any number of changes.
func (h *Hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

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

// join returns the entry of a user, with a new subscriber added by add.
func (h *Hub) join(userID string, add func(*user)) {
	h.mu.Lock()
	u := h.users[userID]
	if u == nil {
		u = &user{}
		h.users[userID] = u
	}
	add(u)
	u.hasNew = true
	h.dirty[userID] = u
	h.mu.Unlock()
	h.signal()
}

// leave removes a subscriber by remove, and the user with the last one.
func (h *Hub) leave(userID string, remove func(*user)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.users[userID]
	if u == nil {
		return
	}
	remove(u)
	if len(u.feeds) == 0 {
		u.window, u.marked = nil, nil
	}
	if len(u.badges)+len(u.feeds) == 0 {
		delete(h.users, userID)
		delete(h.dirty, userID)
	}
}

// Users returns how many users have subscribers in this process.
func (h *Hub) Users() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.users)
}

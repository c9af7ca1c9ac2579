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

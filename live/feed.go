package live

import (
	"context"

	"belfry/inbox"
)

// WindowSize is how many of a user's newest notifications the hub follows. What changes below shows in the
// counts, and as a Snapshot.
const WindowSize = 50

// maxEvents is how many events wait for a slow subscriber before a Snapshot takes their place.
const maxEvents = 64

// FeedEvent is a change of a user's inbox.
type FeedEvent interface {
	// Current returns the user's state after the event.
	Current() *State
	// within returns the part of the event that concerns some categories, nil where there is none.
	within(has func(category string) bool) FeedEvent
}

// State is what every event says of its user.
type State struct {
	UserID string
	Badge  inbox.Badge
}

// Current returns the state itself: events embed it.
func (s *State) Current() *State { return s }

// Snapshot says that the state is such, without saying how it came about: it is the first event, and comes
// when events were lost or when something has changed that the hub does not follow.
type Snapshot struct{ State }

// Created is a new notification.
type Created struct {
	State
	Notification *inbox.Notification
}

// Updated are notifications that were marked or put away, or the reverse, as they are now.
type Updated struct {
	State
	Notifications []*inbox.Notification
}

// AllRead is a mark-all.
type AllRead struct {
	State
	MarkedAll
}

// Deleted are notifications that are gone.
type Deleted struct {
	State
	Notifications []Gone
}

// Gone is what is left of a deleted notification.
type Gone struct {
	Position inbox.Cursor
	Category string
}

func (e *Snapshot) within(func(string) bool) FeedEvent { return e }

func (e *Created) within(has func(string) bool) FeedEvent {
	if !has(e.Notification.Category) {
		return nil
	}
	return e
}

func (e *Updated) within(has func(string) bool) FeedEvent {
	part := &Updated{State: e.State}
	for _, n := range e.Notifications {
		if has(n.Category) {
			part.Notifications = append(part.Notifications, n)
		}
	}
	if len(part.Notifications) == 0 {
		return nil
	}
	return part
}

func (e *AllRead) within(has func(string) bool) FeedEvent {
	if e.Categories == nil {
		return e
	}
	for _, c := range e.Categories {
		if has(c) {
			return e
		}
	}
	return nil
}

func (e *Deleted) within(has func(string) bool) FeedEvent {
	part := &Deleted{State: e.State}
	for _, g := range e.Notifications {
		if has(g.Category) {
			part.Notifications = append(part.Notifications, g)
		}
	}
	if len(part.Notifications) == 0 {
		return nil
	}
	return part
}

// feedSubscriber is one subscription to an inbox. The hub's mu guards it.
type feedSubscriber struct {
	// send hands an event on, or reports that there is no room.
	send func(FeedEvent) bool
	// clear forgets what has not been taken.
	clear      func()
	categories map[string]struct{} // nil for all
	last       inbox.Badge
	had        bool
}

// SubscribeFeed returns a channel that has a Snapshot soon and then every change of the user's inbox; with
// categories (nil is all) only what concerns those, and a Snapshot where the counts alone have changed. Who
// reads slowly gets a Snapshot for the events that found no room. The subscription ends with ctx; the
// channel is never closed.
func SubscribeFeed[T any](ctx context.Context, h *Hub, userID string, categories []string, payload func(FeedEvent) T) <-chan T {
	out := make(chan T, maxEvents)
	wake := inbox.FollowedBy(ctx, func() int { return len(out) })
	s := &feedSubscriber{
		send: func(e FeedEvent) bool {
			select {
			case out <- payload(e):
				wake()
				return true
			default:
				return false
			}
		},
		clear: func() {
			for {
				select {
				case <-out:
				default:
					return
				}
			}
		},
	}
	if categories != nil {
		s.categories = make(map[string]struct{}, len(categories))
		for _, c := range categories {
			s.categories[c] = struct{}{}
		}
	}
	h.join(userID, func(u *user) {
		if u.feeds == nil {
			u.feeds = map[*feedSubscriber]struct{}{}
		}
		u.feeds[s] = struct{}{}
	})
	context.AfterFunc(ctx, func() {
		h.leave(userID, func(u *user) { delete(u.feeds, s) })
	})
	return out
}

// offerFeed hands on what has changed since the last read and returns how many events that were.
func (u *user) offerFeed(userID string, now FeedState, marked []MarkedAll) int {
	state := State{UserID: userID, Badge: now.Badge}
	events := u.window.changes(state, now.Feed, marked)
	u.window = newWindow(now)
	sent := 0
	for s := range u.feeds {
		sent += s.offer(state, events)
	}
	return sent
}

// offer hands a subscriber what concerns it. A new one gets the state alone, whatever led to it.
func (s *feedSubscriber) offer(state State, events []FeedEvent) int {
	if !s.had {
		s.last, s.had = state.Badge, true
		s.send(&Snapshot{state})
		return 1
	}
	sent := 0
	for _, e := range events {
		if s.categories != nil {
			e = e.within(func(category string) bool {
				_, ok := s.categories[category]
				return ok
			})
		}
		if e == nil {
			continue
		}
		sent++
		if !s.send(e) {
			s.clear()
			s.send(&Snapshot{state})
			break
		}
	}
	if sent == 0 && !s.last.Shows(state.Badge) {
		sent++
		if !s.send(&Snapshot{state}) {
			s.clear()
			s.send(&Snapshot{state})
		}
	}
	s.last = state.Badge
	return sent
}

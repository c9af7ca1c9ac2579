package live

import (
	"slices"
	"time"

	"belfry/inbox"
)

// FeedState is a user's counters and newest notifications, read at one moment.
type FeedState struct {
	Badge inbox.Badge
	// Feed has the newest WindowSize notifications, archived ones too, newest first.
	Feed []*inbox.Notification
}

// window is what the subscribers of an inbox know of it.
type window struct {
	badge inbox.Badge
	rows  map[inbox.Cursor]row
	// lowest is the oldest position that the window reaches; below it nothing is known. It is the zero
	// Cursor where the window holds everything there is.
	lowest inbox.Cursor
}

// row is what can change of a notification.
type row struct {
	category           string
	actorID            string    // "" for none
	readAt, archivedAt time.Time // zero where there is no mark
}

func (r row) countsAsUnread() bool { return r.readAt.IsZero() && r.archivedAt.IsZero() }

func rowOf(n *inbox.Notification) row {
	r := row{category: n.Category}
	if n.Actor != nil {
		r.actorID = n.Actor.UserID
	}
	if n.ReadAt != nil {
		r.readAt = *n.ReadAt
	}
	if n.ArchivedAt != nil {
		r.archivedAt = *n.ArchivedAt
	}
	return r
}

func newWindow(s FeedState) *window {
	w := &window{badge: s.Badge, rows: make(map[inbox.Cursor]row, len(s.Feed))}
	for _, n := range s.Feed {
		w.rows[n.Cursor()] = rowOf(n)
	}
	if len(s.Feed) >= WindowSize {
		w.lowest = s.Feed[len(s.Feed)-1].Cursor()
	}
	return w
}

// changes returns the events that lead from the window to what is there now. Where they do not explain the
// new counts, something below the window has changed, and a Snapshot says so.
func (w *window) changes(state State, feed []*inbox.Notification, marked []MarkedAll) []FeedEvent {
	if w == nil {
		return nil
	}
	var events []FeedEvent
	for _, m := range marked {
		w.apply(m)
		events = append(events, &AllRead{state, m})
	}
	present := make(map[inbox.Cursor]bool, len(feed))
	unread := w.badge.Unread
	var created []FeedEvent
	var updated []*inbox.Notification
	for _, n := range feed {
		at, now := n.Cursor(), rowOf(n)
		present[at] = true
		before, known := w.rows[at]
		switch {
		case !known && at.Compare(w.lowest) < 0: // it was there before, below the window, or has come there
		case !known:
			created = append(created, &Created{state, n})
			unread += count(now)
		case before != now:
			updated = append(updated, n)
			unread += count(now) - count(before)
		}
	}
	slices.Reverse(created) // the oldest first, as they came
	events = append(events, created...)
	if len(updated) > 0 {
		events = append(events, &Updated{state, updated})
	}
	if gone := w.gone(feed, present); len(gone) > 0 {
		events = append(events, &Deleted{state, gone})
		for _, g := range gone {
			unread -= count(w.rows[g.Position])
		}
	}
	isExplained := unread == state.Badge.Unread || len(marked) > 0 || state.Badge.Unread == inbox.MaxCount
	if len(events) > 0 && !isExplained || len(events) == 0 && !w.badge.Shows(state.Badge) {
		events = append(events, &Snapshot{state})
	}
	return events
}

// apply marks the rows that a mark-all has read, so that they do not show as updated one by one.
func (w *window) apply(m MarkedAll) {
	for at, r := range w.rows {
		inCategory := m.Categories == nil || slices.Contains(m.Categories, r.category)
		if r.countsAsUnread() && inCategory && !at.CreatedAt.After(m.Through) {
			r.readAt = m.ReadAt
			w.rows[at] = r
		}
	}
}

// gone returns what the window had and the feed has not, newest first. What has merely fallen out at the
// lower end of a full feed is not gone.
func (w *window) gone(feed []*inbox.Notification, present map[inbox.Cursor]bool) []Gone {
	var lowest inbox.Cursor
	if len(feed) >= WindowSize {
		lowest = feed[len(feed)-1].Cursor()
	}
	var gone []Gone
	for at, r := range w.rows {
		if !present[at] && at.Compare(lowest) >= 0 {
			gone = append(gone, Gone{at, r.category})
		}
	}
	slices.SortFunc(gone, func(a, b Gone) int { return b.Position.Compare(a.Position) })
	return gone
}

func count(r row) int32 {
	if r.countsAsUnread() {
		return 1
	}
	return 0
}

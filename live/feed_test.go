package live_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belfry/inbox"
	"belfry/live"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// notification makes the n-th one, of a category.
func notification(n int, category string) *inbox.Notification {
	var id inbox.UUID
	id[0], id[1] = byte(n>>8), byte(n)
	return &inbox.Notification{
		UserID: "ada", CreatedAt: epoch.Add(time.Duration(n) * time.Second), ID: id, Category: category, Title: fmt.Sprint(n),
	}
}

// put sets ada's feed, newest first, and the count that goes with it; more is unread below the window.
func (i *inboxes) put(more int32, feed ...*inbox.Notification) {
	unread := more
	for _, n := range feed {
		if n.ReadAt == nil && n.ArchivedAt == nil {
			unread++
		}
	}
	i.set("ada", unread)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.feeds = map[string][]*inbox.Notification{"ada": feed}
}

// words tells an event in words.
func words(e live.FeedEvent) string {
	unread := e.Current().Badge.Unread
	switch e := e.(type) {
	case *live.Created:
		return fmt.Sprintf("created %s, %d unread", e.Notification.Title, unread)
	case *live.Updated:
		var titles []string
		for _, n := range e.Notifications {
			titles = append(titles, n.Title)
		}
		return fmt.Sprintf("updated %s, %d unread", strings.Join(titles, " "), unread)
	case *live.AllRead:
		return fmt.Sprintf("all read, %d unread", unread)
	case *live.Deleted:
		return fmt.Sprintf("deleted %d, %d unread", len(e.Notifications), unread)
	}
	return fmt.Sprintf("snapshot, %d unread", unread)
}

func read(n *inbox.Notification) *inbox.Notification {
	c := *n
	at := epoch.Add(time.Hour)
	c.ReadAt = &at
	return &c
}

func archived(n *inbox.Notification) *inbox.Notification {
	c := *n
	at := epoch.Add(time.Hour)
	c.ArchivedAt = &at
	return &c
}

// by gives a notification an actor.
func by(userID string, n *inbox.Notification) *inbox.Notification {
	c := *n
	c.Actor = inbox.NewActor(userID, nil)
	return &c
}

func TestFeedEvents(t *testing.T) {
	t.Parallel()
	one, two, three := notification(1, "ci"), notification(2, "reviews"), notification(3, "ci")
	full := make([]*inbox.Notification, live.WindowSize)
	for i := range full {
		full[i] = notification(100-i, "ci")
	}
	tests := []struct {
		name          string
		before        []*inbox.Notification
		moreBefore    int32
		after         []*inbox.Notification
		moreAfter     int32
		want, ofOther []string // of all, and of one who wants reviews alone
	}{
		{"one comes", []*inbox.Notification{one}, 0, []*inbox.Notification{two, one}, 0,
			[]string{"created 2, 2 unread"}, []string{"created 2, 2 unread"}},
		{"two come", []*inbox.Notification{one}, 0, []*inbox.Notification{three, two, one}, 0,
			[]string{"created 2, 3 unread", "created 3, 3 unread"}, []string{"created 2, 3 unread"}},
		{"one of another category comes", []*inbox.Notification{two}, 0, []*inbox.Notification{three, two}, 0,
			[]string{"created 3, 2 unread"}, []string{"snapshot, 2 unread"}},
		{"one comes below the others", []*inbox.Notification{three, one}, 0, []*inbox.Notification{three, two, one}, 0,
			[]string{"created 2, 3 unread"}, []string{"created 2, 3 unread"}},
		{"T-38 one is read, which makes nothing new", []*inbox.Notification{two, one}, 0, []*inbox.Notification{two, read(one)}, 0,
			[]string{"updated 1, 1 unread"}, []string{"snapshot, 1 unread"}},
		{"one is unread again", []*inbox.Notification{read(two)}, 0, []*inbox.Notification{two}, 0,
			[]string{"updated 2, 1 unread"}, []string{"updated 2, 1 unread"}},
		{"one is put away", []*inbox.Notification{two, one}, 0, []*inbox.Notification{archived(two), one}, 0,
			[]string{"updated 2, 1 unread"}, []string{"updated 2, 1 unread"}},
		{"one is deleted", []*inbox.Notification{two, one}, 0, []*inbox.Notification{one}, 0,
			[]string{"deleted 1, 1 unread"}, []string{"deleted 1, 1 unread"}},
		{"one loses its actor", []*inbox.Notification{by("bela", two), one}, 0, []*inbox.Notification{two, one}, 0,
			[]string{"updated 2, 2 unread"}, []string{"updated 2, 2 unread"}},
		{"all go", []*inbox.Notification{two, one}, 0, nil, 0, []string{"deleted 2, 0 unread"}, []string{"deleted 1, 0 unread"}},
		{"one comes, one is read, one goes", []*inbox.Notification{two, one}, 0, []*inbox.Notification{three, read(two)}, 0,
			[]string{"created 3, 1 unread", "updated 2, 1 unread", "deleted 1, 1 unread"}, []string{"updated 2, 1 unread"}},
		{"one comes to a full window", full[1:], 1, full, 1, []string{"created 100, 51 unread"}, []string{"snapshot, 51 unread"}},
		{"one falls out of a full window", full, 0, append([]*inbox.Notification{notification(101, "ci")}, full[:49]...), 1,
			[]string{"created 101, 51 unread"}, []string{"snapshot, 51 unread"}},
		{"T-38 one is deleted, and what comes up from below is not new", full, 1, append(full[1:50:50], notification(1, "ci")), 0,
			[]string{"deleted 1, 50 unread"}, []string{"snapshot, 50 unread"}},
		{"something below the window is read", full, 7, full, 5, []string{"snapshot, 55 unread"}, []string{"snapshot, 55 unread"}},
		{"nothing changes", []*inbox.Notification{one}, 0, []*inbox.Notification{one}, 0, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := &inboxes{}
				in.put(tt.moreBefore, tt.before...)
				h := startHub(t, in, live.Local{})
				all := live.SubscribeFeed(t.Context(), h, "ada", nil, words)
				reviews := live.SubscribeFeed(t.Context(), h, "ada", []string{"reviews"}, words)
				within(time.Second)
				first := fmt.Sprintf("snapshot, %d unread", in.badges["ada"].Unread)
				wantPending(t, "at first", all, first)
				wantPending(t, "at first, of reviews", reviews, first)
				in.put(tt.moreAfter, tt.after...)
				h.Changed("ada")
				within(time.Second)
				wantPending(t, "events", all, tt.want...)
				wantPending(t, "events of reviews", reviews, tt.ofOther...)
				h.Changed("ada")
				within(time.Minute)
				wantPending(t, "and nothing after", all)
			})
		})
	}
}

// A mark-all of this process comes as the rule it is, and not as an update of each row too.
func TestMarkAllIsARule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two, three := notification(1, "ci"), notification(2, "reviews"), notification(3, "ci")
		in := &inboxes{}
		in.put(40, two, one)
		h := startHub(t, in, live.Local{})
		all := live.SubscribeFeed(t.Context(), h, "ada", nil, words)
		reviews := live.SubscribeFeed(t.Context(), h, "ada", []string{"reviews"}, words)
		within(time.Second)
		pending(all)
		pending(reviews)
		in.put(0, three, two, read(one))
		h.ChangedAll("ada", live.MarkedAll{Through: two.CreatedAt, ReadAt: *read(one).ReadAt, Categories: []string{"ci"}})
		within(time.Second)
		wantPending(t, "events", all, "all read, 2 unread", "created 3, 2 unread")
		wantPending(t, "events of reviews", reviews, "snapshot, 2 unread")
	})
}

// What finds no room is replaced by the state.
func TestASlowReaderOfEventsGetsASnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		slow := live.SubscribeFeed(t.Context(), h, "ada", nil, words)
		var feed []*inbox.Notification
		for n := range 200 {
			feed = append([]*inbox.Notification{notification(n, "ci")}, feed...)
			shown := feed[:min(len(feed), live.WindowSize)]
			in.put(int32(len(feed)-len(shown)), shown...)
			h.Changed("ada")
			within(150 * time.Millisecond)
		}
		got := pending(slow)
		if len(got) > 64 || got[len(got)-1] != "created 199, 200 unread" {
			t.Fatalf("got %d events, the last %q", len(got), got[len(got)-1])
		}
		if !strings.HasPrefix(got[0], "snapshot") {
			t.Errorf("the first: got %q, want a snapshot for what is missing before", got[0])
		}
	})
}

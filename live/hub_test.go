package live_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/live"
)

// inboxes is what a hub reads from.
type inboxes struct {
	mu     sync.Mutex
	badges map[string]inbox.Badge           // guarded by mu
	feeds  map[string][]*inbox.Notification // guarded by mu
	reads  [][]string                       // guarded by mu: the users of each read
	err    error                            // guarded by mu
	onRead func(userIDs []string)           // called before a read
}

func (i *inboxes) set(user string, unread int32) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.badges == nil {
		i.badges = map[string]inbox.Badge{}
	}
	i.badges[user] = inbox.Badge{Unread: unread, Unseen: unread}
}

func (i *inboxes) readBadges(_ context.Context, users []string) (map[string]inbox.Badge, error) {
	if i.onRead != nil {
		i.onRead(users)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reads = append(i.reads, users)
	return maps.Clone(i.badges), i.err
}

func (i *inboxes) readFeeds(ctx context.Context, users []string) (map[string]live.FeedState, error) {
	badges, err := i.readBadges(ctx, users)
	i.mu.Lock()
	defer i.mu.Unlock()
	states := map[string]live.FeedState{}
	for _, u := range users {
		states[u] = live.FeedState{Badge: badges[u], Feed: i.feeds[u]}
	}
	return states, err
}

// takeReads returns how many reads there were since the last call, and for how many users in all.
func (i *inboxes) takeReads() (reads, users int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range i.reads {
		users += len(r)
	}
	reads, i.reads = len(i.reads), nil
	return reads, users
}

// startHub runs a hub until the test ends. It is for use within synctest.Test.
func startHub(t *testing.T, in *inboxes, broker live.Broker) *live.Hub {
	t.Helper()
	h := live.NewHub(live.Config{
		ReadBadges: in.readBadges, ReadFeeds: in.readFeeds, Broker: broker, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return h
}

func subscribe(ctx context.Context, h *live.Hub, user string) <-chan int32 {
	return live.SubscribeBadge(ctx, h, user, func(_ string, b inbox.Badge) int32 { return b.Unread })
}

// pending returns what waits in a channel.
func pending[T any](c <-chan T) []T {
	var got []T
	for {
		select {
		case v := <-c:
			got = append(got, v)
		default:
			return got
		}
	}
}

// within lets time pass until all is quiet.
func within(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func wantPending[T any](t *testing.T, what string, c <-chan T, want ...T) {
	t.Helper()
	if diff := cmp.Diff(want, pending(c)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTheFirstBadgeIsThePresentState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		in.set("ada", 3)
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(time.Millisecond)
		wantPending(t, "the first subscriber", a, 3)
		b := subscribe(t.Context(), h, "ada")
		within(20 * time.Millisecond)
		wantPending(t, "the second subscriber", b, 3)
		wantPending(t, "the first again", a)
	})
}

// What changes between the registration and the read is in what is read: listen first, read second.
func TestAChangeDuringTheFirstReadIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		once := sync.OnceFunc(func() {
			// The read is under way and will say 0: now comes the change.
			go func() {
				in.set("ada", 1)
				h.Changed("ada")
			}()
		})
		in.onRead = func([]string) { once() }
		a := subscribe(t.Context(), h, "ada")
		within(300 * time.Millisecond)
		got := pending(a)
		if len(got) == 0 || got[len(got)-1] != 1 {
			t.Errorf("got %v, want 1 at last", got)
		}
	})
}

// Case T-02: three dispatches, and the badge ends at three.
func TestT02EveryChangeReachesTheBadge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(time.Millisecond)
		wantPending(t, "at first", a, 0)
		for n := range int32(3) {
			in.set("ada", n+1)
			h.Changed("ada")
		}
		within(time.Second)
		wantPending(t, "within a second", a, 3)
	})
}

// Case T-03: what one tab reads, the other hears of.
func TestT03EveryTabHears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		in.set("ada", 4)
		h := startHub(t, in, live.Local{})
		a, b, other := subscribe(t.Context(), h, "ada"), subscribe(t.Context(), h, "ada"), subscribe(t.Context(), h, "bela")
		within(time.Second)
		wantPending(t, "a", a, 4)
		wantPending(t, "b", b, 4)
		wantPending(t, "other", other, 0)
		in.takeReads()
		in.set("ada", 3)
		h.Changed("ada")
		within(time.Second)
		wantPending(t, "a", a, 3)
		wantPending(t, "b", b, 3)
		wantPending(t, "other", other)
		if reads, users := in.takeReads(); reads != 1 || users != 1 {
			t.Errorf("got %d reads of %d users, want one of one for all subscribers", reads, users)
		}
	})
}

// Case T-27: a change that changes nothing is heard by nobody.
func TestT27WhatChangesNothingIsNotHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		in.set("ada", 1)
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(time.Second)
		wantPending(t, "at first", a, 1)
		h.Changed("ada")
		within(time.Minute)
		wantPending(t, "after a change of nothing", a)
	})
}

// A hint that was lost is made good by the sweep.
func TestTheSweepRepairsLostHints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(time.Second)
		pending(a)
		in.set("ada", 7) // and nobody says so
		within(31 * time.Second)
		wantPending(t, "after the sweep", a, 7)
	})
}

// A read that fails is tried again until it succeeds.
func TestAFailedReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{err: errors.New("no database")}
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(5 * time.Second)
		wantPending(t, "while it fails", a)
		if reads, _ := in.takeReads(); reads < 3 || reads > 7 {
			t.Errorf("got %d reads in 5 s, want about one a second", reads)
		}
		in.mu.Lock()
		in.err = nil
		in.mu.Unlock()
		within(1100 * time.Millisecond)
		wantPending(t, "afterwards", a, 0)
	})
}

func TestSubscriptionsLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, &inboxes{}, live.Local{})
		for range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			subscribe(ctx, h, "ada")
			live.SubscribeFeed(ctx, h, "bela", nil, func(live.FeedEvent) int { return 0 })
			cancel()
		}
		within(time.Second)
		if got := h.Users(); got != 0 {
			t.Errorf("got %d users, want 0", got)
		}
	})
}

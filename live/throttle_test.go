package live_test

import (
	"testing"
	"testing/synctest"
	"time"

	"belfry/live"
)

// At most one badge every 100 ms, and the last one always arrives.
func TestBadgesAreThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		var times []time.Time
		var last int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			for v := range a {
				times, last = append(times, time.Now()), v
				if v == 1000 {
					return
				}
			}
		}()
		for n := range int32(1000) {
			in.set("ada", n+1)
			h.Changed("ada")
			within(time.Millisecond)
		}
		<-done
		if last != 1000 {
			t.Errorf("the last badge: got %d, want 1000", last)
		}
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < 100*time.Millisecond {
				t.Errorf("badge %d came after %s", i, gap)
			}
		}
		if len(times) < 8 || len(times) > 12 {
			t.Errorf("got %d badges in a second of changes, want about ten", len(times))
		}
	})
}

// A new subscriber does not wait for the others' pause, and does not lengthen it for them.
func TestANewSubscriberIsServedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		a := subscribe(t.Context(), h, "ada")
		within(time.Millisecond)
		wantPending(t, "a", a, 0)
		in.set("ada", 1)
		h.Changed("ada")
		within(9 * time.Millisecond) // 10 ms after a's first badge
		b := subscribe(t.Context(), h, "ada")
		within(10 * time.Millisecond)
		wantPending(t, "b at once", b, 1)
		wantPending(t, "a waits", a)
		within(85 * time.Millisecond)
		wantPending(t, "a after its 100 ms", a, 1)
	})
}

// Who reads slowly gets the newest state, not a backlog.
func TestASlowSubscriberSkipsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		slow := subscribe(t.Context(), h, "ada")
		for n := range int32(50) {
			in.set("ada", n)
			h.Changed("ada")
			within(150 * time.Millisecond)
		}
		wantPending(t, "what waits", slow, 49)
	})
}

func TestManyUsersAreReadTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &inboxes{}
		h := startHub(t, in, live.Local{})
		users := make([]string, 900)
		for i := range users {
			users[i] = string(rune('a'+i%26)) + string(rune('0'+i/26))
			subscribe(t.Context(), h, users[i])
		}
		within(time.Minute / 4)
		in.takeReads()
		for _, u := range users {
			in.set(u, 1)
		}
		h.Changed(users...)
		within(5 * time.Second)
		if reads, read := in.takeReads(); reads > 2 || read < len(users) {
			t.Errorf("got %d reads of %d users, want one or two of %d", reads, read, len(users))
		}
	})
}

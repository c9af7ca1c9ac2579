package live_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/live"
)

func TestPayloadsHoldIDsAndNothingElse(t *testing.T) {
	t.Parallel()
	got := live.Payloads("me", []string{"ada", "bela", "chen"}, 10)
	if diff := cmp.Diff([]string{"me\nada", "me\nbela", "me\nchen"}, got); diff != "" {
		t.Errorf("of 10 bytes (-want +got):\n%s", diff)
	}
	got = live.Payloads("me", []string{"ada", "bela", "chen"}, 11)
	if diff := cmp.Diff([]string{"me\nada\nbela", "me\nchen"}, got); diff != "" {
		t.Errorf("of 11 bytes (-want +got):\n%s", diff)
	}
	got = live.Payloads("me", []string{"ada", "bela", "chen"}, 7999)
	if diff := cmp.Diff([]string{"me\nada\nbela\nchen"}, got); diff != "" {
		t.Errorf("of 7,999 bytes (-want +got):\n%s", diff)
	}
	if got = live.Payloads("me", nil, 7999); got != nil {
		t.Errorf("of nothing: got %q", got)
	}
}

// Case T-47: NOTIFY takes less than 8,000 bytes, and a hint never has more, however many users there are.
func TestT47HintsFitIntoANotify(t *testing.T) {
	t.Parallel()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = strings.Repeat("x", 120) + strings.Repeat("y", i%9)
	}
	var back []string
	for _, p := range live.Payloads(strings.Repeat("s", 26), ids, 7999) {
		if len(p) > 7999 {
			t.Fatalf("a hint of %d bytes", len(p))
		}
		live.Deliver(p, "other", func(users []string) { back = append(back, users...) }, func() { t.Error("resync") })
	}
	if !slices.Equal(ids, back) {
		t.Errorf("got %d ids back, want %d", len(back), len(ids))
	}
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		payload    string
		want       []string
		wantResync bool
	}{
		{"other\nada\nbela", []string{"ada", "bela"}, false},
		{"me\nada", nil, false},
		{"other\n*", nil, true},
		{"me\n*", nil, false},
		{"", nil, false},
		{"garbage", nil, false},
	}
	for _, tt := range tests {
		var got []string
		resynced := false
		live.Deliver(tt.payload, "me", func(users []string) { got = users }, func() { resynced = true })
		if diff := cmp.Diff(tt.want, got); diff != "" || resynced != tt.wantResync {
			t.Errorf("%q: resync %t (-want +got):\n%s", tt.payload, resynced, diff)
		}
	}
}

// sent collects what an outbox sends.
type sent struct {
	mu      sync.Mutex
	batches [][]string // guarded by mu
	times   []time.Time
	err     error // guarded by mu
}

func (s *sent) send(_ context.Context, users []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	if s.err != nil {
		return s.err
	}
	s.batches = append(s.batches, users)
	return nil
}

func runOutbox(t *testing.T, s *sent) *live.Outbox {
	t.Helper()
	o := live.NewOutbox(20 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Run(ctx, s.send)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return o
}

func TestHintsAreSentInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sent{}
		o := runOutbox(t, s)
		for range 100 {
			o.Add([]string{"ada", "bela"})
			within(time.Millisecond)
		}
		within(time.Second)
		if n := len(s.batches); n < 5 || n > 6 {
			t.Errorf("got %d batches in 100 ms, want one every 20 ms", n)
		}
		for _, b := range s.batches {
			if diff := cmp.Diff([]string{"ada", "bela"}, b); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		o.Add(manyUsers(10_000))
		within(time.Second)
		if diff := cmp.Diff([]string{live.Everyone}, s.batches[len(s.batches)-1]); diff != "" {
			t.Errorf("of 10,000 users (-want +got):\n%s", diff)
		}
	})
}

func manyUsers(n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = "user-" + strings.Repeat("i", i%7) + string(rune('a'+i%26)) + string(rune(0x4e00+i))
	}
	return users
}

// What could not be sent is sent later, with what has come meanwhile, and not in a tight loop.
func TestFailedBatchesAreSentLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sent{err: errors.New("no broker")}
		o := runOutbox(t, s)
		o.Add([]string{"ada"})
		within(10 * time.Second)
		if n := len(s.times); n < 4 || n > 12 {
			t.Errorf("got %d tries in 10 s, want a handful", n)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		o.Add([]string{"bela"})
		within(6 * time.Second)
		if diff := cmp.Diff([][]string{{"ada", "bela"}}, s.batches); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

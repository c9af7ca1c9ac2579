package resolvers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/storage"
)

// asked records what a trip asked for, a list of users for each read and departure.
type asked struct {
	mu    sync.Mutex
	users [][]string // guarded by mu
}

// read answers each user with its own id, without a statement.
func (a *asked) read(_ *storage.Batch, userIDs []string) answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	sorted := slices.Sorted(slices.Values(userIDs))
	a.users = append(a.users, sorted)
	return answers{of: func(user string) any { return user }}
}

func TestTripLeavesWithTheLastQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var a asked
		trip := &trip{size: 4}
		var group sync.WaitGroup
		for _, user := range []string{"a", "b", "c", "a", "a"} {
			group.Go(func() {
				found, err := trip.join(t.Context(), question{"x", user}, a.read)
				if err != nil || found.of(user) != user {
					t.Errorf("%s: got %v", user, err)
				}
			})
		}
		synctest.Wait()
		trip.leave(t.Context(), question{"y", "d"})
		group.Wait()
		if diff := cmp.Diff([][]string{{"a", "b", "c"}}, a.users); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %s, want 0 s", took)
		}
		// One that was asked is answered without another trip.
		if _, err := trip.join(t.Context(), question{"x", "a"}, a.read); err != nil || len(a.users) != 1 {
			t.Errorf("again: got %v and %d trips, want 1", err, len(a.users))
		}
	})
}

// What gqlgen refuses before a resolver hears of it never comes.
func TestTripGivesUpWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var a asked
		trip := &trip{size: 3}
		if _, err := trip.join(t.Context(), question{"x", "a"}, a.read); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != tripWait {
			t.Errorf("waited %s, want %s", took, tripWait)
		}
		if _, err := trip.join(t.Context(), question{"x", "b"}, a.read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"a"}, {"b"}}, a.users); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// A caller who goes away takes nobody along, and neither does one whose read panics.
func TestTripOutlivesItsPassengers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a asked
		trip := &trip{size: 2}
		gone, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := trip.join(gone, question{"x", "a"}, a.read); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if _, err := trip.join(gone, question{"x", "b"}, a.read); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		group.Wait()
		if diff := cmp.Diff([][]string{{"a", "b"}}, a.users); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

func TestTripPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a asked
		trip := &trip{size: 2}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := trip.join(t.Context(), question{"x", "a"}, a.read); !errors.Is(err, errPanicked) {
				t.Errorf("got %v, want %v", err, errPanicked)
			}
		})
		synctest.Wait()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = trip.join(t.Context(), question{"y", "a"}, func(*storage.Batch, []string) answers { panic("boom") })
		}()
		group.Wait()
	})
}

// Nobody is there to recover from a panic once the wait is over.
func TestTripPanicsAfterWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trip := &trip{size: 2}
		boom := func(*storage.Batch, []string) answers { panic("boom") }
		if _, err := trip.join(t.Context(), question{"x", "a"}, boom); !errors.Is(err, errPanicked) {
			t.Errorf("got %v, want %v", err, errPanicked)
		}
	})
}

package expo_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// sendAll sends batches at the same time and returns what became of all.
func sendAll(ctx context.Context, client *expo.Client, batches ...int) map[string]int {
	var mu sync.Mutex
	var all []push.Result
	var wg sync.WaitGroup
	for _, n := range batches {
		wg.Go(func() {
			results := client.Send(ctx, messages(n))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, results...)
		})
	}
	wg.Wait()
	return count(all)
}

// Within a second 600 messages pass, and the 601st when the second is over; Expo never says 429.
func TestRate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		batches []int
		want    time.Duration
	}{
		{"600", []int{100, 100, 100, 100, 100, 100}, 833 * time.Millisecond},
		{"601", []int{100, 100, 100, 100, 100, 100, 1}, time.Second},
		{"3,000", []int{500, 500, 500, 500, 500, 500}, 4833 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sim := exposim.New(exposim.Config{})
				client := expo.New(expo.Config{Transport: direct{sim}})
				started, sum := time.Now(), 0
				for _, n := range tt.batches {
					sum += n
					if got := sendAll(t.Context(), client, n); got["sent"] != n {
						t.Errorf("%d messages: %v", n, got)
					}
				}
				if took := time.Since(started).Round(time.Millisecond); took != tt.want {
					t.Errorf("%d messages took %s, want %s", sum, took, tt.want)
				}
			})
		})
	}
}

// Senders that come at the same time share the rate.
func TestRateShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{})
		client := expo.New(expo.Config{Transport: direct{sim}})
		started := time.Now()
		batches := make([]int, 60)
		for i := range batches {
			batches[i] = 100
		}
		if diff := cmp.Diff(map[string]int{"sent": 6000}, sendAll(t.Context(), client, batches...)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if took := time.Since(started).Round(time.Second); took != 10*time.Second {
			t.Errorf("took %s, want 10s", took)
		}
	})
}

// What can't have its turn within the timeout comes back, untouched.
func TestRateBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{})
		client := expo.New(expo.Config{Transport: direct{sim}, Limit: 100, Timeout: 3 * time.Second})
		started := time.Now()
		got := sendAll(t.Context(), client, 100, 100, 100, 100, 100, 100)
		want := map[string]int{"sent": 400, "requeued paused": 200}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if took := time.Since(started); took > 3*time.Second {
			t.Errorf("took %s", took)
		}
		if n := sim.Stats().Messages; n != 400 {
			t.Errorf("the simulator has taken %d", n)
		}
	})
}

// A 429 halves the rate, which is the limit's again after a while.
func TestSlowDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{})
		client := expo.New(expo.Config{Transport: direct{sim}})
		// second returns how long 600 messages take after the first hundred.
		second := func() time.Duration {
			sendAll(t.Context(), client, 100)
			started := time.Now()
			sendAll(t.Context(), client, 600)
			return time.Since(started).Round(100 * time.Millisecond)
		}
		if took := second(); took != time.Second {
			t.Errorf("600 messages took %s, want 1s", took)
		}
		sim.FailSend(exposim.TooManyRequests)
		got := client.Send(t.Context(), messages(100))
		if diff := cmp.Diff(map[string]int{"requeued TOO_MANY_REQUESTS": 100}, count(got)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if got[0].RetryAfter != time.Second {
			t.Errorf("retry after %s", got[0].RetryAfter)
		}
		started := time.Now()
		if sendAll(t.Context(), client, 1); time.Since(started) != time.Second {
			t.Errorf("the pause took %s, want 1s", time.Since(started))
		}
		if took := second(); took < 1800*time.Millisecond || took > 2*time.Second {
			t.Errorf("600 messages took %s after a 429, want about 2s", took)
		}
		<-time.After(time.Minute)
		if took := second(); took > 1100*time.Millisecond {
			t.Errorf("600 messages took %s a minute later, want 1s", took)
		}
		if n := sim.Stats().SendRequests; n > 30 {
			t.Errorf("%d requests", n)
		}
	})
}

// The pause is Retry-After's; who comes meanwhile and can't wait so long hears so at once.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		header string
		want   time.Duration
	}{
		{"", time.Second},
		{"0", time.Second},
		{"-5", time.Second},
		{"soon", time.Second},
		{"7", 7 * time.Second},
		{"120", 2 * time.Minute},
		{"Sat, 01 Jan 2000 00:01:30 GMT", 90 * time.Second}, // synctest's clock begins with 2000
		{"Fri, 31 Dec 1999 00:00:00 GMT", time.Second},
		{"99999999999", 15 * time.Minute},
		{"99999999999999999999999", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int32
				client := expo.New(expo.Config{Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					w.Header().Set("Retry-After", tt.header)
					answer(429, tooMany)(w, r)
				})}})
				if got := first(t, client.Send(t.Context(), messages(1))).RetryAfter; got != tt.want {
					t.Errorf("retry after %s, want %s", got, tt.want)
				}
				started := time.Now()
				got := first(t, client.Send(t.Context(), messages(1)))
				waits := tt.want <= 30*time.Second
				if waited := time.Since(started); waits && waited != tt.want || !waits && waited != 0 {
					t.Errorf("the next waited %s", waited)
				}
				if !waits && (got.Error != "paused" || got.RetryAfter != tt.want || requests.Load() != 1) {
					t.Errorf("%d requests, %+v", requests.Load(), got)
				}
			})
		})
	}
}

// After 401 the queue waits, and one batch a minute tries again.
func TestUnauthorizedPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{})
		client := expo.New(expo.Config{Transport: direct{sim}})
		sim.FailSend(exposim.Unauthorized, exposim.Forbidden)
		for i, want := range []push.Result{
			{Verdict: push.Failed, Error: "invalid_token"},
			{Verdict: push.Requeued, Error: "paused", RetryAfter: time.Minute},
			{Verdict: push.Failed, Error: "UNAUTHORIZED"},
			{Verdict: push.Requeued, Error: "paused", RetryAfter: time.Minute},
			{Verdict: push.Sent},
		} {
			got := first(t, client.Send(t.Context(), messages(1)))
			got.Detail, got.Ticket = "", ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("send %d (-want +got):\n%s", i, diff)
			}
			if i%2 == 1 {
				<-time.After(time.Minute)
			}
		}
	})
}

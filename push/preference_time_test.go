package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"belfry/storage"
)

// transport answers without a network, so that time can be a test's own.
type transport func(*http.Request) (string, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := f(req)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// A user's answer holds for 30 s.
func TestPreferencesCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, offFor("ci")
		p := preferencesAt(t, "http://service", transport(func(*http.Request) (string, error) {
			asked++
			return answer, nil
		}))
		for _, step := range []struct {
			wait   time.Duration
			answer string
			asked  int
			muted  bool
		}{
			{0, offFor("ci"), 1, true},
			{29 * time.Second, `{}`, 1, true},
			{2 * time.Second, `{}`, 2, false}, // the service takes it back
			{29 * time.Second, offFor("ci"), 2, false},
			{2 * time.Second, offFor("ci"), 3, true},
		} {
			<-time.After(step.wait)
			answer = step.answer
			if got := isMuted(t, p, "a", "ci"); got != step.muted || asked != step.asked {
				t.Errorf("after %s: got muted %v, asked %d times, want %v and %d", step.wait, got, asked, step.muted, step.asked)
			}
		}
	})
}

// Who comes while a user is asked about waits for that answer.
func TestPreferencesSingleFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		p := preferencesAt(t, "http://service", transport(func(*http.Request) (string, error) {
			asked.Add(1)
			<-time.After(100 * time.Millisecond)
			return offFor("ci"), nil
		}))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				// Twice in one batch, too.
				batch := []storage.QueuedPush{{ID: 1, UserID: "a", Category: "ci"}, {ID: 2, UserID: "a", Category: "ci"}}
				if got, want := len(p.muted(t.Context(), batch)), 2; got != want {
					t.Errorf("got %d muted, want %d", got, want)
				}
			})
		}
		wg.Wait()
		if got, want := asked.Load(), int32(1); got != want {
			t.Errorf("asked %d times, want %d", got, want)
		}
	})
}

// A service that hangs holds a batch up for a moment, and is then left alone for a while.
func TestPreferencesPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var isUp atomic.Bool
		p := preferencesAt(t, "http://service", transport(func(req *http.Request) (string, error) {
			asked.Add(1)
			if isUp.Load() {
				return offFor("ci"), nil
			}
			<-req.Context().Done()
			return "", req.Context().Err()
		}))
		batch := make([]storage.QueuedPush, storage.PushBatch)
		for i := range batch {
			batch[i] = storage.QueuedPush{ID: int64(i), UserID: fmt.Sprint("u", i), Category: "ci"}
		}
		began := time.Now()
		if got := len(p.muted(t.Context(), batch)); got != 0 {
			t.Errorf("T-57 hanging: got %d muted, want none", got)
		}
		if took, most := time.Since(began), 2*preferenceTimeout; took > most {
			t.Errorf("a batch took %s, want %s at most", took, most)
		}
		if got, most := asked.Load(), int32(2*questionsAtOnce); got > most {
			t.Errorf("asked %d times, want %d at most", got, most)
		}
		isUp.Store(true)
		before := asked.Load()
		if isMuted(t, p, "new", "ci") || asked.Load() != before {
			t.Errorf("within the pause: asked %d times, want none", asked.Load()-before)
		}
		<-time.After(failurePause)
		if !isMuted(t, p, "new", "ci") {
			t.Error("after the pause: got not muted")
		}
		isUp.Store(false)
		for i := range maxFailures {
			before := asked.Load()
			if isMuted(t, p, fmt.Sprint("newer", i), "ci"); asked.Load() != before+1 {
				t.Errorf("failure %d after it has recovered: not asked", i+1)
			}
		}
	})
}

// A stop does not wait for the service.
func TestPreferencesStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := preferencesAt(t, "http://service", transport(func(req *http.Request) (string, error) {
			<-req.Context().Done()
			return "", errors.New("stopped")
		}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		p.muted(ctx, []storage.QueuedPush{{ID: 1, UserID: "a", Category: "ci"}})
		if took := time.Since(began); took != 0 {
			t.Errorf("took %s, want nothing", took)
		}
	})
}

// However many users there are, what has just been answered counts, and memory has an end.
func TestPreferencesOfMany(t *testing.T) {
	t.Parallel()
	p := preferencesAt(t, "http://service", transport(func(*http.Request) (string, error) { return offFor("ci"), nil }))
	for i := range maxRemembered { // opt-outs, which are kept the longest
		p.users[fmt.Sprint("old", i)] = &answer{off: map[string]bool{"ci": true}, askedAt: time.Now()}
	}
	for from := range 3 {
		batch := make([]storage.QueuedPush, storage.PushBatch)
		for i := range batch {
			batch[i] = storage.QueuedPush{ID: int64(i), UserID: fmt.Sprint("new", from, " ", i), Category: "ci"}
		}
		if got, want := len(p.muted(t.Context(), batch)), len(batch); got != want {
			t.Errorf("T-57 batch %d: got %d muted, want %d", from, got, want)
		}
	}
	if got, most := len(p.users), maxRemembered; got > most {
		t.Errorf("got %d users remembered, want %d at most", got, most)
	}
}

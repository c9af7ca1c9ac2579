package sse_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/graph"
	"belfry/inbox"
)

// serve serves a request for a stream within a bubble. What it returns waits for the end.
func serve(ctx context.Context, h http.Handler, c *client, body string) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(c, newRequest(ctx, http.MethodPost, "/graphql", body, "Accept", "text/event-stream"))
	}()
	return func() { <-done }
}

// after waits in a bubble's time.
func after(d time.Duration) { <-time.After(d) }

const three, four = `{"data":{"badgeChanged":{"user":{"unreadCount":3}}}}`, `{"data":{"badgeChanged":{"user":{"unreadCount":4}}}}`

// A stream is silent for 12 seconds at most, counted from what was last sent.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, badge3 := live()
		c := newClient()
		wait := serve(t.Context(), newAPI(t, stub{badge: badge3}), c, subscription)
		after(29 * time.Second)
		events <- badge(3)
		after(20 * time.Second)
		events <- badge(4)
		close(events)
		wait()
		want := []arrival{
			{0, open}, {12 * time.Second, open}, {24 * time.Second, open},
			{29 * time.Second, next(three)}, {41 * time.Second, open},
			{49 * time.Second, next(four)}, {49 * time.Second, complete},
		}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestALongQueryIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient()
		viewer := func(context.Context) (*inbox.User, error) {
			after(15 * time.Second)
			return &inbox.User{ID: "ada"}, nil
		}
		serve(t.Context(), newAPI(t, stub{viewer: viewer}), c, query)()
		want := []arrival{
			{0, open}, {12 * time.Second, open},
			{15 * time.Second, next(`{"data":{"viewer":{"userId":"ada"}}}`)}, {15 * time.Second, complete},
		}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A subscription of days is no operation that took too long.
func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, subscribe := live()
		c := newClient()
		wait := serve(t.Context(), newAPI(t, stub{badge: subscribe}), c, subscription)
		after(72 * time.Hour)
		events <- badge(3)
		close(events)
		wait()
		if got, want := strings.TrimLeft(c.text(), ":\n"), next(three)+complete; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestTheTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, subscribe := live()
		c := newClient()
		ctx := inbox.WithCaller(t.Context(), inbox.Caller{UserID: "ada", ExpiresAt: time.Now().Add(10 * time.Second)}, nil)
		wait := serve(ctx, newAPI(t, stub{badge: subscribe}), c, subscription)
		events <- badge(3)
		wait()
		want := []arrival{{0, open}, {0, next(three)}, {10 * time.Second,
			next(`{"errors":[{"message":"the token has expired","extensions":{"code":"UNAUTHENTICATED"}}]}`) + complete}}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What ends by itself is let, even where the token expires or the server stops meanwhile.
func TestAQueryIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient()
		api := newAPI(t, stub{viewer: func(ctx context.Context) (*inbox.User, error) {
			after(5 * time.Second)
			return &inbox.User{ID: "ada"}, ctx.Err()
		}})
		ctx := inbox.WithCaller(t.Context(), inbox.Caller{UserID: "ada", ExpiresAt: time.Now().Add(time.Second)}, nil)
		wait := serve(ctx, api, c, query)
		if err := api.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		wait()
		if got, want := c.text(), open+next(`{"data":{"viewer":{"userId":"ada"}}}`)+complete; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Without complete, after which clients would not come back.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, subscribe := live()
		c := newClient()
		api := newAPI(t, stub{badge: subscribe})
		wait := serve(t.Context(), api, c, subscription)
		events <- badge(3)
		synctest.Wait()
		for range 2 {
			if err := api.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}
		wait()
		if got, want := c.text(), open+next(three); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		late := newClient()
		serve(t.Context(), api, late, subscription)()
		if got := late.text(); got != open {
			t.Errorf("after that: got %s, want %s", got, open)
		}
	})
}

func TestTheResolverHearsThatTheClientIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var resolver context.Context
		c := newClient()
		wait := serve(ctx, newAPI(t, stub{badge: func(ctx context.Context) (<-chan *graph.BadgePayload, error) {
			resolver = ctx
			return nil, nil
		}}), c, subscription)
		synctest.Wait()
		cancel()
		wait()
		if resolver.Err() == nil || c.text() != open {
			t.Errorf("got %v, %s", resolver.Err(), c.text())
		}
	})
}

// A client that does not read is given 10 seconds.
func TestASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var resolver context.Context
		events, subscribe := live()
		c := newClient()
		c.reads = func(frame string) bool { return !strings.Contains(frame, "4") }
		wait := serve(t.Context(), newAPI(t, stub{badge: func(ctx context.Context) (<-chan *graph.BadgePayload, error) {
			resolver = ctx
			return subscribe(ctx)
		}}), c, subscription)
		events <- badge(3)
		events <- badge(4)
		wait()
		if got, want := time.Since(c.started), 10*time.Second; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, want := c.text(), open+next(three); got != want || resolver.Err() == nil {
			t.Errorf("got %s, %v, want %s", got, resolver.Err(), want)
		}
	})
}

// Nothing is queued here: while one frame is written, one more is computed, and that is all.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan *graph.BadgePayload)
		isStuck := make(chan struct{})
		c := newClient()
		c.reads = func(frame string) bool {
			if strings.Contains(frame, "next") {
				<-isStuck
			}
			return true
		}
		subscribe := func(context.Context) (<-chan *graph.BadgePayload, error) { return events, nil }
		wait := serve(t.Context(), newAPI(t, stub{badge: subscribe}), c, subscription)
		taken := 0
		for range 5 {
			select {
			case events <- badge(3):
				taken++
			case <-time.After(time.Second):
			}
		}
		if taken != 2 {
			t.Errorf("got %d, want 2", taken)
		}
		close(isStuck)
		close(events)
		wait()
	})
}

func TestErrorsOfASubscription(t *testing.T) {
	const internal = `"extensions":{"code":"INTERNAL"`
	tests := []struct {
		name  string
		badge func(context.Context) (<-chan *graph.BadgePayload, error)
		want  string
	}{
		{"refused", func(context.Context) (<-chan *graph.BadgePayload, error) {
			return nil, inbox.Errorf(inbox.Unauthenticated, "authentication required")
		}, `"extensions":{"code":"UNAUTHENTICATED"}}]}`},
		{"failed", func(context.Context) (<-chan *graph.BadgePayload, error) { return nil, errors.New("secret") }, internal},
		{"panicked", func(context.Context) (<-chan *graph.BadgePayload, error) { panic("secret") }, internal},
		{"an event panicked", func(context.Context) (<-chan *graph.BadgePayload, error) {
			c := make(chan *graph.BadgePayload, 1)
			c <- &graph.BadgePayload{User: &inbox.User{}}
			close(c)
			return c, nil
		}, internal},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			c := newClient()
			serve(t.Context(), newAPI(t, stub{badge: tt.badge}), c, subscription)()
			got := c.text()
			if !strings.HasPrefix(got, open+`event: next`+"\n"+`data: {"errors":[{`) || !strings.HasSuffix(got, "}\n\n"+complete) ||
				strings.Count(got, "event: ") != 2 || !strings.Contains(got, tt.want) || strings.Contains(got, "secret") {
				t.Errorf("%s: got %s", tt.name, got)
			}
		})
	}
}

// Outside of the resolvers nobody else recovers it.
func TestAPanicOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient()
		calls := 0
		prepare := func() {
			if calls++; calls == 2 {
				panic("secret")
			}
		}
		serve(t.Context(), newAPI(t, stub{badge: badges(3, 4), prepare: prepare}), c, subscription)()
		got := c.text()
		const want = open + "event: next\ndata: " + three + "\n\n" + `event: next` + "\n" +
			`data: {"errors":[{"message":"internal error","extensions":{"code":"INTERNAL","requestId":"`
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "}\n\n"+complete) || strings.Contains(got, "secret") {
			t.Errorf("got %s", got)
		}
	})
}

package expo_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// Whatever a request meets, a worker that sends again what comes back and nothing else shows no message
// twice, and loses none that Expo has certainly not taken (T-65).
func TestShownOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault     exposim.Fault
		want      string // what becomes of all
		delivered bool
	}{
		{exposim.None, "sent", true},
		{exposim.BadRequest, "sent", true}, // in halves
		{exposim.TooLarge, "sent", true},
		{exposim.TooManyRequests, "sent", true}, // the second time
		{exposim.Unauthorized, "failed invalid_token", false},
		{exposim.Forbidden, "failed UNAUTHORIZED", false},
		{exposim.Reset, "failed connection_lost", false},
		{exposim.Cut, "failed connection_lost", true},
		{exposim.ServerError, "failed INTERNAL_SERVER_ERROR", true},
		{exposim.BadGateway, "failed http_502", true},
		{exposim.Unavailable, "failed http_503", true},
		{exposim.GatewayTimeout, "failed http_504", true},
		{exposim.Slow, "failed timeout", true},
		{exposim.HTML, "failed bad_response", true},
		{exposim.Errors, "failed INTERNAL_SERVER_ERROR", true},
		{exposim.Garbage, "failed bad_response", true},
		{exposim.Empty, "failed bad_response", true},
		{exposim.Short, "failed ticket_mismatch", true},
		{exposim.Long, "failed ticket_mismatch", true},
		{exposim.Array, "failed bad_response", true},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sim := exposim.New(exposim.Config{})
				client := expo.New(expo.Config{Transport: direct{sim}})
				sim.FailSend(tt.fault)
				if diff := cmp.Diff(map[string]int{tt.want: 4}, count(work(t, client, messages(4)))); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				shown := sim.Shown()
				if len(sim.Deliveries()) != len(shown) || (len(shown) == 4) != tt.delivered || !tt.delivered && len(shown) > 0 {
					t.Errorf("%d deliveries, shown: %v", len(sim.Deliveries()), slices.Sorted(maps.Keys(shown)))
				}
			})
		})
	}
}

// work sends messages as a worker does: again what is requeued, after the time that it is told.
func work(t *testing.T, client *expo.Client, list []push.Message) []push.Result {
	results := client.Send(t.Context(), list)
	for i, r := range results {
		if r.Verdict == push.Requeued {
			<-time.After(r.RetryAfter)
			results[i] = client.Send(t.Context(), list[i:i+1])[0]
		}
	}
	return results
}

// The same faults, of the tokens themselves.
func TestFaultByToken(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]map[string]int{
		"504": {"failed http_504": 2}, "429": {"requeued TOO_MANY_REQUESTS": 2}, "400": {"failed VALIDATION_ERROR": 1, "sent": 1},
		"short": {"failed ticket_mismatch": 2}, "cut": {"failed connection_lost": 2}, "html": {"failed bad_response": 2},
	} {
		client, _ := serve(t, exposim.New(exposim.Config{}))
		got := client.Send(t.Context(), []push.Message{message("a"), message("b-" + word)})
		if diff := cmp.Diff(want, count(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

// A message that was sent twice by whoever is shown once: by tag on Android, by collapseId on iOS.
func TestCollapse(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{"ios", "android", ""} {
		sim := exposim.New(exposim.Config{})
		client, _ := serve(t, sim)
		m, other := message("a"), message("a")
		m.Platform, other.Platform, other.ID = platform, platform, "other"
		for _, m := range []push.Message{m, other, m} {
			client.Send(t.Context(), []push.Message{m})
		}
		if n, shown := len(sim.Deliveries()), len(sim.Shown()[m.Token]); n != 3 || shown != 2 {
			t.Errorf("platform %q: %d deliveries, %d shown", platform, n, shown)
		}
	}
}

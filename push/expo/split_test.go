package expo_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

func taken(r push.Result) bool { return r.Verdict == push.Sent }

// One malformed message of a hundred fails alone, and its neighbours are sent once.
func TestBisect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		bad         []int
		want        map[string]int
		maxRequests int
	}{
		{"none", nil, map[string]int{"sent": 100}, 1},
		{"the first", []int{0}, map[string]int{"sent": 99, "failed VALIDATION_ERROR": 1}, 15},
		{"the last", []int{99}, map[string]int{"sent": 99, "failed VALIDATION_ERROR": 1}, 15},
		{"one within", []int{42}, map[string]int{"sent": 99, "failed VALIDATION_ERROR": 1}, 15},
		{"two", []int{10, 90}, map[string]int{"sent": 98, "failed VALIDATION_ERROR": 2}, 29},
		{"five", []int{3, 21, 40, 66, 91}, map[string]int{"sent": 95, "failed VALIDATION_ERROR": 5}, 64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sim := exposim.New(exposim.Config{})
			client, rec := serve(t, sim)
			list := messages(100)
			for _, i := range tt.bad {
				list[i].Token = "no token"
			}
			results := client.Send(t.Context(), list)
			if diff := cmp.Diff(tt.want, count(results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for i, r := range results {
				if taken(r) == slices.Contains(tt.bad, i) {
					t.Errorf("message %d: %+v", i, r)
				}
			}
			if n := len(rec.requests()); n > tt.maxRequests {
				t.Errorf("%d requests, want at most %d", n, tt.maxRequests)
			}
			if got := len(sim.Deliveries()); got != 100-len(tt.bad) {
				t.Errorf("%d deliveries", got)
			}
		})
	}
}

// Where all are malformed the requests are bounded; the rest comes back, and each time gets fewer.
func TestBisectAll(t *testing.T) {
	t.Parallel()
	client, rec := serve(t, answer(400, `{"errors":[{"code":"VALIDATION_ERROR","message":"m"}]}`))
	left, before := messages(100), 0
	for len(left) > 0 {
		var again []push.Message
		for i, r := range client.Send(t.Context(), left) {
			if r.Verdict == push.Requeued {
				again = append(again, left[i])
			}
		}
		n := len(rec.requests()) - before
		if n > 64 || len(again) >= len(left) {
			t.Fatalf("%d requests for %d messages, of which %d are left", n, len(left), len(again))
		}
		left, before = again, len(rec.requests())
	}
}

// Tokens of two projects: each project's messages go out once, by themselves (T-67).
func TestSplitProjects(t *testing.T) {
	t.Parallel()
	var list []push.Message
	for i := range 9 {
		list = append(list, message(fmt.Sprintf("%s:device%d", []string{"shop", "bank", "shop"}[i%3], i)))
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		sim := exposim.New(exposim.Config{})
		client, rec := serve(t, sim)
		results := client.Send(t.Context(), list)
		if diff := cmp.Diff(map[string]int{"sent": 9}, count(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{9, 3, 6}, rec.sizes(t)); diff != "" {
			t.Errorf("messages a request (-want +got):\n%s", diff)
		}
		for i, r := range results {
			at := slices.IndexFunc(sim.Deliveries(), func(d exposim.Delivery) bool { return d.Token == list[i].Token })
			if at < 0 || sim.Deliveries()[at].TicketID != r.Ticket {
				t.Errorf("message %d has another's ticket", i)
			}
		}
	})
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		client, rec := serve(t, exposim.New(exposim.Config{}), func(c *expo.Config) { c.Project = "@belfry/shop" })
		results := client.Send(t.Context(), list)
		if diff := cmp.Diff(map[string]int{"sent": 6, "failed wrong_project": 3}, count(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		for i, r := range results {
			if r.DisableDevice != (i%3 == 1) {
				t.Errorf("message %d: %+v", i, r)
			}
		}
		if diff := cmp.Diff([]int{9, 6}, rec.sizes(t)); diff != "" {
			t.Errorf("messages a request (-want +got):\n%s", diff)
		}
	})
	t.Run("one malformed", func(t *testing.T) {
		t.Parallel()
		client, _ := serve(t, exposim.New(exposim.Config{}))
		mixed := slices.Clone(list)
		mixed[4].Token = "no token"
		if diff := cmp.Diff(map[string]int{"sent": 8, "failed VALIDATION_ERROR": 1}, count(client.Send(t.Context(), mixed))); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// projectsError answers as Expo does, whatever the request.
func projectsError(details string) http.HandlerFunc {
	return answer(400, `{"errors":[{"code":"PUSH_TOO_MANY_EXPERIENCE_IDS","message":"All push notification messages in the same request must be for the same project.","details":`+details+`}]}`)
}

func TestSplitOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, details string
		want          []int
	}{
		{"again", `{"@a/x":["ExponentPushToken[device0]","ExponentPushToken[device1]"],"@a/y":["ExponentPushToken[device2]"]}`, []int{4, 1, 2, 1}},
		{"of others", `{"@a/x":["ExponentPushToken[x]"],"@a/y":["ExponentPushToken[y]"]}`, []int{4, 4}},
		{"no details", `null`, []int{4, 2, 1, 1, 2, 1, 1}},
		{"other details", `["ExponentPushToken[device0]"]`, []int{4, 2, 1, 1, 2, 1, 1}},
		{"one project", `{"@a/x":["ExponentPushToken[device0]"]}`, []int{4, 2, 1, 1, 2, 1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, rec := serve(t, projectsError(tt.details))
			got := client.Send(t.Context(), messages(4))
			if diff := cmp.Diff(map[string]int{"failed PUSH_TOO_MANY_EXPERIENCE_IDS": 4}, count(got)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, rec.sizes(t)); diff != "" {
				t.Errorf("messages a request (-want +got):\n%s", diff)
			}
		})
	}
}

// A project that the access token may not send to is not an access token that is no good.
func TestSplitUnauthorized(t *testing.T) {
	t.Parallel()
	foreign := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var list []struct{ To string }
		_ = json.Unmarshal(body, &list)
		switch {
		case len(list) == 2:
			projectsError(`{"@a/x":["ExponentPushToken[device0]"],"@a/y":["ExponentPushToken[device1]"]}`)(w, r)
		case list[0].To == token("device0"):
			answer(403, `{"errors":[{"code":"UNAUTHORIZED","message":"m"}]}`)(w, r)
		default:
			answer(200, `{"data":[{"status":"ok","id":"1"}]}`)(w, r)
		}
	}
	client, _ := serve(t, http.HandlerFunc(foreign))
	for range 2 { // there is no pause
		if diff := cmp.Diff(map[string]int{"sent": 1, "failed wrong_project": 1}, count(client.Send(t.Context(), messages(2)))); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
}

// The chunks of Expo's own SDK.
func TestChunks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][]int{0: nil, 1: {1}, 100: {100}, 101: {100, 1}, 250: {100, 100, 50}} {
		client, rec := serve(t, exposim.New(exposim.Config{}))
		if got := count(client.Send(t.Context(), messages(n)))["sent"]; got != n {
			t.Errorf("%d messages: %d sent", n, got)
		}
		if diff := cmp.Diff(want, rec.sizes(t)); diff != "" {
			t.Errorf("%d messages (-want +got):\n%s", n, diff)
		}
	}
}

package push_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
)

// Expo refuses a request whose tokens are of several projects as a whole.
func TestT67Projects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		project string
		shop    string // the state of the other project's
		off     int    // devices switched off
	}{
		"one of them ours": {"@belfry/app", "failed wrong_project", 2},
		"both ours":        {"", "delivered", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.register(t, "a", "a1", "shop:s1", "a2", "shop:s2")
			client := r.expo(t, expo.Config{Project: tt.project})
			r.start(t, push.Config{Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: client}})
			r.dispatch(t, "hello", "a")
			r.settle(t)
			r.wantLines(t, map[string]string{
				"a1: hello": "delivered", "a2: hello": "delivered", "shop:s1: hello": tt.shop, "shop:s2: hello": tt.shop,
			})
			shown, requests := []string{"a1: hello", "a2: hello"}, 2
			if tt.shop == "delivered" {
				shown, requests = append(shown, "shop:s1: hello", "shop:s2: hello"), 3
			}
			r.wantShown(t, shown...)
			if got := r.sim.Stats().SendRequests; got != requests {
				t.Errorf("got %d requests, want %d: each part once", got, requests)
			}
			const off = `SELECT count(*) FROM devices WHERE disabled_reason = 'wrong_project' AND token LIKE '%shop:%'`
			if got := value[int](t, r, off); got != tt.off {
				t.Errorf("got %d devices switched off, want %d", got, tt.off)
			}
			if got, want := value[int](t, r, `SELECT count(*) FROM devices WHERE disabled_at IS NULL`), 4-tt.off; got != want {
				t.Errorf("got %d devices on, want %d", got, want)
			}
		})
	}
}

// One message that the provider finds malformed keeps no other from going out.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct{ word, state string }{
		{"400", "failed VALIDATION_ERROR"}, {"413", "failed http_413"},
	} {
		t.Run(fault.word+", one of 100", func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			want := map[string]string{}
			var shown []string
			for i := range 100 {
				name, state := fmt.Sprint("a", i), "delivered"
				if i == 37 {
					name, state = "x-"+fault.word, fault.state
				}
				r.register(t, "a", name)
				want[name+": hello"] = state
				if state == "delivered" {
					shown = append(shown, name+": hello")
				}
			}
			r.start(t, push.Config{})
			r.dispatch(t, "hello", "a")
			r.settle(t)
			if diff := cmp.Diff(want, r.lines(t)); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			r.wantShown(t, shown...)
			if got, most := r.sim.Stats().SendRequests, 1+2*7; got > most {
				t.Errorf("got %d requests, want %d at most", got, most)
			}
		})
	}
}

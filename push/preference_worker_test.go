package push_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"belfry/inbox"
	"belfry/push"
	"belfry/storage/storagetest"
)

// A worker that asks the host application's service goes by that alone.
func TestT57PreferenceService(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var isDown atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case isDown.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case req.FormValue("user") == "off":
			_, _ = io.WriteString(w, `{"preferences": [{"category": "c", "channel": "PUSH", "enabled": false}]}`)
		default:
			_, _ = io.WriteString(w, `{"preferences": []}`)
		}
	}))
	t.Cleanup(service.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	preferences, err := push.NewPreferences(service.URL, transport, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	r.register(t, "off", "off1")
	r.register(t, "on", "on1")
	r.register(t, "new", "new1")
	// What is set here counts only where no service is asked.
	if _, _, err := r.store.SetPreference(t.Context(), "on", inbox.Preference{Category: "c", Channel: inbox.ChannelPush}); err != nil {
		t.Fatal(err)
	}
	r.start(t, push.Config{Preferences: preferences})
	r.dispatch(t, "first", "on", "off")
	r.settle(t)
	want := map[string]string{"on1: first": "delivered", "off1: first": "suppressed preference"}
	r.wantLines(t, want)

	// T-57: down, so all goes out, but for a known opt-out.
	isDown.Store(true)
	r.dispatch(t, "second", "on", "off", "new")
	r.settle(t)
	maps.Copy(want, map[string]string{
		"on1: second": "delivered", "off1: second": "suppressed preference", "new1: second": "delivered",
	})
	r.wantLines(t, want)
	r.wantShown(t, "on1: first", "on1: second", "new1: second")
}

// A service that hangs is the worker's concern, not the producer's, and holds nothing open meanwhile.
func TestT57PreferenceServiceHangs(t *testing.T) {
	t.Parallel()
	r := newRigOver(t, storagetest.URL(t), nil)
	var asked atomic.Int32
	service := httptest.NewServer(hang(&asked)(nil))
	t.Cleanup(service.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	preferences, err := push.NewPreferences(service.URL, transport, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	users := r.crowd(t, 1000)
	r.dispatch(t, "first", users...)
	if got := asked.Load(); got != 0 {
		t.Errorf("the dispatch has asked %d times, want none", got)
	}
	r.start(t, push.Config{Preferences: preferences})
	eventually(t, "the service hangs", func() bool { return asked.Load() > 0 })
	const open = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
	if got := value[int](t, r, open); got != 0 {
		t.Errorf("got %d open transactions, want none", got)
	}
	r.dispatch(t, "second", users...)
	r.settle(t)
	if got, want := r.wantAtMostOnce(t), 2*len(users); got != want {
		t.Errorf("got %d shown, want %d", got, want)
	}
}

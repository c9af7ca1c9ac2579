package expo_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push/expo"
	"belfry/push/exposim"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	client, rec := serve(t, exposim.New(exposim.Config{AccessToken: "sesame"}), func(c *expo.Config) { c.AccessToken = "sesame" })
	if got := count(client.Send(t.Context(), messages(1)))["sent"]; got != 1 {
		t.Errorf("%d sent", got)
	}
	if _, err := client.Receipts(t.Context(), []string{"x"}); err != nil {
		t.Error(err)
	}
	requests := rec.requests()
	for i, path := range []string{"/--/api/v2/push/send", "/--/api/v2/push/getReceipts"} {
		want := map[string]string{
			"Accept": "application/json", "Accept-Encoding": "gzip", "Content-Type": "application/json",
			"Authorization": "Bearer sesame", "User-Agent": "belfry", "Content-Encoding": "",
		}
		got := map[string]string{}
		for name := range want {
			got[name] = requests[i].header.Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" || requests[i].path != path {
			t.Errorf("%s (-want +got):\n%s", requests[i].path, diff)
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "", 2: "", 10: "gzip", 100: "gzip"} {
		client, rec := serve(t, exposim.New(exposim.Config{}))
		if got := count(client.Send(t.Context(), messages(n)))["sent"]; got != n {
			t.Errorf("%d messages: %d sent", n, got)
		}
		request := rec.requests()[0]
		if got := request.header.Get("Content-Encoding"); got != want || (want == "gzip") != (len(request.body) > 1024) {
			t.Errorf("%d bytes: content encoding %q, want %q", len(request.body), got, want)
		}
		if got := len(request.messages(t)); got != n {
			t.Errorf("%d messages in the request, want %d", got, n)
		}
	}
}

// Over HTTP/2, which Expo speaks, nothing is sent again by itself either.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{})
	server := httptest.NewUnstartedServer(sim)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := expo.New(expo.Config{BaseURL: server.URL, Transport: server.Client().Transport})
	defer client.Close()
	for _, tt := range []struct {
		fault exposim.Fault
		want  string
	}{
		{exposim.None, "sent"}, {exposim.Cut, "failed connection_lost"}, {exposim.GatewayTimeout, "failed http_504"},
		{exposim.Reset, "failed connection_lost"}, {exposim.None, "sent"},
	} {
		sim.FailSend(tt.fault)
		if diff := cmp.Diff(map[string]int{tt.want: 1}, count(client.Send(t.Context(), messages(1)))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.fault, diff)
		}
	}
	if got, want := sim.Stats(), (exposim.Stats{SendRequests: 5, Messages: 4, Delivered: 4}); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

// At most six requests are under way, receipts among them.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		release := make(chan struct{})
		client := expo.New(expo.Config{Limit: -1, Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := running.Add(1)
			defer running.Add(-1)
			most.Store(max(most.Load(), n))
			<-release
			answer(200, `{"data":{"status":"ok"}}`)(w, r)
		})}})
		for range 20 {
			go client.Send(t.Context(), messages(1))
			go func() { _, _ = client.Receipts(t.Context(), []string{"x"}) }()
		}
		synctest.Wait()
		if n := running.Load(); n != 6 {
			t.Errorf("%d requests under way, want 6", n)
		}
		close(release)
		synctest.Wait()
		if running.Load() != 0 || most.Load() != 6 {
			t.Errorf("%d requests under way, at most %d", running.Load(), most.Load())
		}
	})
}

// forever answers never.
var forever = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

// Two timeouts are what a Send takes at most: one to begin, one for the request.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := expo.New(expo.Config{Transport: direct{forever}, Timeout: 10 * time.Second})
		started := time.Now()
		got := sendAll(t.Context(), client, 1, 1, 1, 1, 1, 1, 1, 250)
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("took %s", took)
		}
		if got["failed timeout"] < 6 || got["failed timeout"]+got["requeued busy"]+got["requeued paused"] != 257 {
			t.Errorf("results: %v", got)
		}
	})
}

// A context with a deadline leaves its second half to the answers of what began in its first.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		client := expo.New(expo.Config{Transport: direct{exposim.New(exposim.Config{})}, Limit: 10})
		if diff := cmp.Diff(map[string]int{"sent": 200, "requeued paused": 100}, sendAll(ctx, client, 300)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		<-time.After(10 * time.Second)
		client = expo.New(expo.Config{Transport: direct{forever}})
		if diff := cmp.Diff(map[string]int{"failed timeout": 1}, sendAll(ctx, client, 1)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// A body that stops comes to its end with the timeout, over a real connection too.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{})
	client, _ := serve(t, sim, func(c *expo.Config) { c.Timeout = 200 * time.Millisecond })
	sim.FailSend(exposim.Slow)
	if diff := cmp.Diff(map[string]int{"failed timeout": 1}, count(client.Send(t.Context(), messages(1)))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	sim.FailReceipts(exposim.Slow)
	if _, err := client.Receipts(t.Context(), []string{"x"}); err == nil {
		t.Error("no error")
	}
	// The worker goes on.
	if diff := cmp.Diff(map[string]int{"sent": 1}, count(client.Send(t.Context(), messages(1)))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// When its context ends a Send returns: what was under way has failed, what was not is untouched.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := expo.New(expo.Config{Transport: direct{forever}, Limit: -1})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		started := time.Now()
		got := sendAll(ctx, client, 1, 1, 1, 1, 1, 1, 1, 1)
		if diff := cmp.Diff(map[string]int{"failed canceled": 6, "requeued busy": 2}, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if took := time.Since(started); took != time.Second {
			t.Errorf("took %s", took)
		}
		// One that has ended before.
		if diff := cmp.Diff(map[string]int{"requeued busy": 2}, sendAll(ctx, client, 2)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

// Canceled over a real connection, amid the answer.
func TestCancelAmidBody(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[`)
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if diff := cmp.Diff(map[string]int{"failed canceled": 1}, count(client.Send(ctx, messages(1)))); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

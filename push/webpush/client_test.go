package webpush

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"belfry/push"
)

var ignoreDetail = cmpopts.IgnoreFields(push.Result{}, "Detail")

// checkResults compares all but Detail, whose wording is others'.
func checkResults(t *testing.T, want, got []push.Result) {
	t.Helper()
	if diff := cmp.Diff(want, got, ignoreDetail); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, status(http.StatusCreated))
	cfg.TTL, cfg.Urgency = time.Hour, High
	c := newClient(t, cfg)
	checkResults(t, []push.Result{{Verdict: push.Delivered}}, c.Send(t.Context(), []push.Message{s.message("/push/a?b=c&d")}))

	const want = `{"title":"Ada answered","notificationId":"ntf_1","badge":0,"kind":"comment.created","category":"comments"}`
	got := s.got()
	if len(got) != 1 {
		t.Fatalf("received %d messages, want 1", len(got))
	}
	if diff := cmp.Diff([]string{"/push/a?b=c&d", want}, []string{got[0].path, got[0].plaintext}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	header := map[string]string{}
	for name := range got[0].header {
		if name != "Authorization" {
			header[name] = got[0].header.Get(name)
		}
	}
	wantHeader := map[string]string{
		"Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream", "Content-Length": "359",
		"Ttl": "3600", "Urgency": "high", "User-Agent": "Belfry",
	}
	if diff := cmp.Diff(wantHeader, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestSendNothing(t *testing.T) {
	t.Parallel()
	_, cfg := newService(t, status(http.StatusCreated))
	c := newClient(t, cfg)
	if got := c.Send(t.Context(), nil); len(got) != 0 {
		t.Errorf("got %d results, want none", len(got))
	}
	if got, err := c.Receipts(t.Context(), []string{"x"}); got != nil || err != nil {
		t.Errorf("got receipts %v, %v; want none", got, err)
	}
}

func TestTheLargestMessageIsTaken(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, status(http.StatusCreated))
	m := s.message("/")
	m.Body = strings.Repeat("😀", 4000)
	checkResults(t, []push.Result{{Verdict: push.Delivered}}, newClient(t, cfg).Send(t.Context(), []push.Message{m}))
	if got := s.got()[0].size; got != 4096 {
		t.Errorf("got %d bytes, want 4096", got)
	}
}

// Each status, all in one Send: results come in the order of the messages.
func TestStatuses(t *testing.T) {
	t.Parallel()
	date := time.Now().Add(90 * time.Minute).UTC().Format(http.TimeFormat)
	tests := []struct {
		status     int
		retryAfter string
		want       push.Result
	}{
		{201, "", push.Result{Verdict: push.Delivered}},
		{410, "", push.Result{Verdict: push.Failed, Error: "gone", DisableDevice: true}},
		{200, "", push.Result{Verdict: push.Delivered}},
		{202, "", push.Result{Verdict: push.Delivered}},
		{404, "", push.Result{Verdict: push.Failed, Error: "gone", DisableDevice: true}},
		{400, "", push.Result{Verdict: push.Failed, Error: "bad_request"}},
		{401, "", push.Result{Verdict: push.Failed, Error: "credentials_rejected"}},
		{403, "", push.Result{Verdict: push.Failed, Error: "credentials_rejected"}},
		{413, "", push.Result{Verdict: push.Failed, Error: "payload_too_large"}},
		{429, "17", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: 17 * time.Second}},
		{429, "", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: time.Minute}},
		{429, "soon", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: time.Minute}},
		{429, "0", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: time.Second}},
		{429, "-5", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: time.Minute}},
		{429, "2000000000", push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: 24 * time.Hour}},
		{429, date, push.Result{Verdict: push.Requeued, Error: "rate_limited", RetryAfter: 90 * time.Minute}},
		{500, "", push.Result{Verdict: push.Failed, Error: "http_500"}},
		{502, "", push.Result{Verdict: push.Failed, Error: "http_502"}},
		{503, "17", push.Result{Verdict: push.Failed, Error: "http_503"}},
		{504, "", push.Result{Verdict: push.Failed, Error: "http_504"}},
		{204, "", push.Result{Verdict: push.Failed, Error: "http_204"}},
		{307, "", push.Result{Verdict: push.Failed, Error: "http_307"}},
		{418, "", push.Result{Verdict: push.Failed, Error: "http_418"}},
		{0, "", push.Result{Verdict: push.Failed, Error: "invalid_token", DisableDevice: true}},
	}
	s, cfg := newService(t, func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &i)
		if tests[i].retryAfter != "" {
			w.Header().Set("Retry-After", tests[i].retryAfter)
		}
		w.Header().Set("Location", "/0")
		w.WriteHeader(tests[i].status)
	})
	var want []push.Result
	var messages []push.Message
	for i, tt := range tests {
		m := s.message(fmt.Sprint("/", i))
		if tt.status == 0 {
			m.Token = "ExponentPushToken[a]"
		}
		want, messages = append(want, tt.want), append(messages, m)
	}
	got := newClient(t, cfg).Send(t.Context(), messages)
	near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < 10*time.Second })
	if diff := cmp.Diff(want, got, ignoreDetail, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Each once: no status made it send again, and no redirect was followed.
	if got := len(s.got()); got != len(tests)-1 {
		t.Errorf("received %d requests, want %d", got, len(tests)-1)
	}
}

func TestDetailSaysWhatTheServiceSaid(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"reason":"BadJwtToken"}`:  `403 {"reason":"BadJwtToken"}`,
		"":                          "403",
		"<html>\r\n\x00\xff</html>": "403 <html>   \uFFFD</html>",
		strings.Repeat("😀", 1<<20):  "403 " + strings.Repeat("😀", 249),
	} {
		s, cfg := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(body))
		})
		got := newClient(t, cfg).Send(t.Context(), []push.Message{s.message("/")})
		if diff := cmp.Diff(want, got[0].Detail); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Two calls of Send share the limit; it is reached, so that requests do run side by side.
func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	const limit, each = 3, 6
	var running, most atomic.Int32
	full := make(chan struct{})
	open := sync.OnceFunc(func() { close(full) })
	s, cfg := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == limit {
			open()
		}
		<-full
		w.WriteHeader(http.StatusCreated)
	})
	cfg.Concurrency = limit
	c := newClient(t, cfg)
	var messages []push.Message
	for range each {
		messages = append(messages, s.message("/"))
	}
	done := make(chan []push.Result)
	for range 2 {
		go func() { done <- c.Send(t.Context(), messages) }()
	}
	want := make([]push.Result, each)
	for i := range want {
		want[i].Verdict = push.Delivered
	}
	checkResults(t, want, <-done)
	checkResults(t, want, <-done)
	if got := most.Load(); got != limit {
		t.Errorf("%d requests at a time, want %d", got, limit)
	}
}

// What was under way has failed; what was not begun can be sent later.
func TestCancellation(t *testing.T) {
	t.Parallel()
	const limit = 2
	begun := make(chan struct{})
	s, cfg := newService(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		silence(w, r)
	})
	cfg.Concurrency = limit
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range limit {
			<-begun
		}
		cancel()
	}()
	m := s.message("/")
	got := newClient(t, cfg).Send(ctx, []push.Message{m, m, m, m})
	underWay := push.Result{Verdict: push.Failed, Error: "canceled"}
	notBegun := push.Result{Verdict: push.Requeued, Error: "canceled"}
	checkResults(t, []push.Result{underWay, underWay, notBegun, notBegun}, got)
	checkResults(t, []push.Result{notBegun}, newClient(t, cfg).Send(ctx, []push.Message{m}))
}

func TestAllows(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, status(http.StatusCreated))
	c := newClient(t, cfg)
	if m := s.message("/x"); !c.Allows(m.Token) {
		t.Error("refuses its own service")
	}
	for _, endpoint := range []string{"https://evil.example/", "https://127.0.0.1/"} {
		if m := s.messageTo(endpoint); c.Allows(m.Token) {
			t.Errorf("allows %s", endpoint)
		}
	}
	if c.Allows("ExponentPushToken[a]") {
		t.Error("allows what is no subscription")
	}
}

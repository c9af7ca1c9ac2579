package expo_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"testing"

	"belfry/push"
	"belfry/push/expo"
)

// message is a push whose token is ExponentPushToken[name].
func message(name string) push.Message {
	return push.Message{
		ID: "id-" + name, Token: token(name), Platform: "android", Title: "secret title", Body: "secret body",
		NotificationID: "n-" + name, Kind: "test", Category: "tests", Badge: 3,
	}
}

func token(name string) string { return "ExponentPushToken[" + name + "]" }

func messages(n int) []push.Message {
	list := make([]push.Message, n)
	for i := range list {
		list[i] = message(fmt.Sprintf("device%d", i))
	}
	return list
}

// recorder is an http.Handler that remembers the requests, unpacked, on their way to another.
type recorder struct {
	handler http.Handler
	mu      sync.Mutex
	seen    []seen // guarded by mu
}

type seen struct {
	path   string
	header http.Header
	body   []byte
}

func (s seen) messages(t *testing.T) []map[string]any {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal(s.body, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	if req.Header.Get("Content-Encoding") == "gzip" {
		if unpacked, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(unpacked)
		}
	}
	r.mu.Lock()
	r.seen = append(r.seen, seen{req.URL.Path, req.Header.Clone(), body})
	r.mu.Unlock()
	r.handler.ServeHTTP(w, req)
}

func (r *recorder) requests() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen(nil), r.seen...)
}

// sizes returns how many messages each request held.
func (r *recorder) sizes(t *testing.T) []int {
	t.Helper()
	var sizes []int
	for _, s := range r.requests() {
		sizes = append(sizes, len(s.messages(t)))
	}
	return sizes
}

// answer is a handler that gives the same answer to all.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// serve starts a handler and returns a client of it, whose config the test may change.
func serve(t *testing.T, handler http.Handler, change ...func(*expo.Config)) (*expo.Client, *recorder) {
	t.Helper()
	rec := &recorder{handler: handler}
	server := httptest.NewUnstartedServer(rec)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	config := expo.Config{BaseURL: server.URL, Limit: -1}
	for _, c := range change {
		c(&config)
	}
	client := expo.New(config)
	t.Cleanup(func() {
		client.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return client, rec
}

// direct carries requests to a handler without a network, so that synctest can see all that waits.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	defer func() {
		if recover() != nil {
			err = io.ErrUnexpectedEOF
		}
	}()
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// first returns the first of results.
func first(t *testing.T, results []push.Result) push.Result {
	t.Helper()
	if len(results) == 0 {
		t.Fatal("no results")
	}
	return results[0]
}

// count returns how many results there are of each verdict and code.
func count(results []push.Result) map[string]int {
	names := map[push.Verdict]string{push.Sent: "sent", push.Delivered: "delivered", push.Failed: "failed", push.Requeued: "requeued"}
	counts := map[string]int{}
	for _, r := range results {
		name := names[r.Verdict]
		if r.Error != "" {
			name += " " + r.Error
		}
		counts[name]++
	}
	return counts
}

// output collects what is logged.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

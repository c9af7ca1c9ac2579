package push

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/storage"
)

// offFor is an answer that switches pushes of a category off.
func offFor(category string) string {
	return `{"preferences": [{"category": "` + category + `", "channel": "PUSH", "enabled": false}]}`
}

// preferencesAt returns a client of the service at a URL.
func preferencesAt(t testing.TB, rawURL string, transport http.RoundTripper) *Preferences {
	t.Helper()
	p, err := NewPreferences(rawURL, transport, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// service is a preference service, and how often it was asked.
type service struct {
	server  *httptest.Server
	handler atomic.Pointer[http.HandlerFunc]
	asked   atomic.Int32
}

func newService(t testing.TB, handler http.HandlerFunc) (*service, *Preferences) {
	t.Helper()
	s := &service{}
	s.handler.Store(&handler)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.asked.Add(1)
		(*s.handler.Load())(w, req)
	}))
	t.Cleanup(s.server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s, preferencesAt(t, s.server.URL+"/preferences?tenant=7", transport)
}

// says answers with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// isMuted asks about one notification of a user.
func isMuted(t testing.TB, p *Preferences, user, category string) bool {
	t.Helper()
	return len(p.muted(t.Context(), []storage.QueuedPush{{ID: 1, UserID: user, Category: category}})) > 0
}

// age makes what is known too old to be relied on.
func (p *Preferences) age() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.users {
		a.askedAt = time.Time{}
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string
		want   bool // muted
	}{
		"T-57 off":                     {offFor("ci"), true},
		"T-57 another category off":    {offFor("comment"), false},
		"T-57 nothing set":             {`{"preferences": []}`, false},
		"T-57 no preferences":          {`{}`, false},
		"T-57 null":                    {`{"preferences": null}`, false},
		"on":                           {`{"preferences": [{"category": "ci", "channel": "PUSH", "enabled": true}]}`, false},
		"T-57 a row without enabled":   {`{"preferences": [{"category": "ci", "channel": "PUSH"}]}`, false},
		"T-57 a row without channel":   {`{"preferences": [{"category": "ci", "enabled": false}]}`, false},
		"another channel off":          {`{"preferences": [{"category": "ci", "channel": "IN_APP", "enabled": false}]}`, false},
		"members that nobody knows":    {`{"x": 1, "preferences": [{"category": "ci", "channel": "PUSH", "enabled": false, "y": {}}]}`, true},
		"on elsewhere, off here":       {`{"preferences": [{"category": "x", "channel": "PUSH", "enabled": true}, {"category": "ci", "channel": "PUSH", "enabled": false}]}`, true},
		"T-57 enabled of a wrong type": {`{"preferences": [{"category": "ci", "channel": "PUSH", "enabled": "no"}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p := newService(t, says(tt.answer))
			if got := isMuted(t, p, "a", "ci"); got != tt.want {
				t.Errorf("muted: got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPreferencesQuestion(t *testing.T) {
	t.Parallel()
	questions := make(chan string, 1)
	_, p := newService(t, func(w http.ResponseWriter, req *http.Request) {
		questions <- req.Method + " " + req.URL.String() + " " + req.Header.Get("Accept")
	})
	isMuted(t, p, "a b&c=d/ü", "ci")
	want := "GET /preferences?tenant=7&user=a+b%26c%3Dd%2F%C3%BC application/json"
	if diff := cmp.Diff(want, <-questions); diff != "" {
		t.Errorf("question (-want +got):\n%s", diff)
	}
}

// faults are services that do not do what they should.
func faults(t testing.TB) map[string]http.HandlerFunc {
	t.Helper()
	followed := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	t.Cleanup(followed.Close)
	return map[string]http.HandlerFunc{
		"hangs":       func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"500":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"404":         func(w http.ResponseWriter, req *http.Request) { http.NotFound(w, req) },
		"204":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"garbage":     says("<html>"),
		"half":        says(`{"preferences": [{"category": "ci", "chan`),
		"wrong types": says(`{"preferences": "ci"}`),
		"nothing":     says(""),
		"10 MB":       says(`{"preferences": [], "x": "` + strings.Repeat("x", 10<<20) + `"}`),
		"cut off":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"drips": func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, `{"preferences"`)
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		},
		"redirects to another host": func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, followed.URL, http.StatusTemporaryRedirect)
		},
	}
}

// It fails open; but what is known to be off stays off.
func TestT57PreferencesFaults(t *testing.T) {
	t.Parallel()
	for name, handler := range faults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := newService(t, says(offFor("ci")))
			if !isMuted(t, p, "known", "ci") {
				t.Error("an opt-out: got not muted")
			}
			s.handler.Store(&handler)
			p.age()
			began := time.Now()
			for user, want := range map[string]bool{"known": true, "new": false} {
				if got := isMuted(t, p, user, "ci"); got != want {
					t.Errorf("user %s: muted: got %v, want %v", user, got, want)
				}
			}
			// Twice its 250 ms, and what a busy machine adds.
			if took, most := time.Since(began), 3*time.Second; took > most {
				t.Errorf("took %s, want %s at most", took, most)
			}
			// Nobody asks again at once, but for net/http where a connection that was kept is cut off.
			if got, most := s.asked.Load(), int32(4); got > most {
				t.Errorf("asked %d times, want %d at most", got, most)
			}
		})
	}
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		s, p := newService(t, says(offFor("ci")))
		isMuted(t, p, "known", "ci")
		s.server.Close()
		p.age()
		for user, want := range map[string]bool{"known": true, "new": false} {
			if got := isMuted(t, p, user, "ci"); got != want {
				t.Errorf("user %s: muted: got %v, want %v", user, got, want)
			}
		}
	})
}

func TestNewPreferences(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]bool{
		"http://localhost:1/x?y=z": true, "https://example.com": true, "": false, "example.com": false,
		"ftp://example.com": false, "http://": false, "http://user:secret@example.com": false, "file:///etc": false,
		":": false,
	} {
		_, err := NewPreferences(rawURL, nil, slog.New(slog.DiscardHandler))
		if got := err == nil; got != want {
			t.Errorf("%q: good: got %v (%v), want %v", rawURL, got, err, want)
		}
		if err != nil && strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("the error holds the password: %v", err)
		}
	}
}

package webpush

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
)

// What was written may have been taken, so that it has failed and nothing sends it again.
func TestAmbiguousFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		timeout time.Duration
		answer  http.HandlerFunc
		want    string
	}{
		{"reset", 0, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "connection_lost"},
		{"silence", 2 * time.Second, silence, "timeout"},
	}
	for _, tt := range tests {
		for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
			t.Run(tt.name+" "+protocol, func(t *testing.T) {
				t.Parallel()
				s, cfg := newService(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Proto != protocol {
						t.Errorf("got %s, want %s", r.Proto, protocol)
					}
					tt.answer(w, r)
				})
				cfg.Timeout = tt.timeout
				c := newClient(t, cfg)
				if protocol == "HTTP/1.1" {
					c.transport.Protocols = new(http.Protocols)
					c.transport.Protocols.SetHTTP1(true)
				}
				got := c.Send(t.Context(), []push.Message{s.message("/")})
				checkResults(t, []push.Result{{Verdict: push.Failed, Error: tt.want}}, got)
				if got := len(s.got()); got != 1 {
					t.Errorf("received %d requests, want 1", got)
				}
			})
		}
	}
}

// An answer that is no HTTP, or that ends too soon, says nothing of the message.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no HTTP": "SSH-2.0-OpenSSH_9.2\r\n", "nothing": "", "half a header": "HTTP/1.1 201 Cre",
		"endless header": "HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cfg := newService(t, status(http.StatusCreated))
			listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			t.Cleanup(func() {
				_ = listener.Close()
				<-served
			})
			go func() {
				defer close(served)
				serveRaw(listener, answer)
			}()
			cfg.AllowedHosts = []string{listener.Addr().String()}
			got := newClient(t, cfg).Send(t.Context(), []push.Message{s.messageTo("https://" + listener.Addr().String() + "/")})
			checkResults(t, []push.Result{{Verdict: push.Failed, Error: "connection_lost"}}, got)
		})
	}
}

// serveRaw answers the first bytes of each connection.
func serveRaw(listener net.Listener, answer string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 1))
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

// Without a connection nothing was written: it may be sent again.
func TestNotConnected(t *testing.T) {
	t.Parallel()
	want := []push.Result{{Verdict: push.Requeued, Error: "not_connected", RetryAfter: time.Minute}}

	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s, cfg := newService(t, status(http.StatusCreated))
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		_ = listener.Close()
		cfg.AllowedHosts = []string{address}
		checkResults(t, want, newClient(t, cfg).Send(t.Context(), []push.Message{s.messageTo("https://" + address + "/")}))
	})

	t.Run("stranger's certificate", func(t *testing.T) {
		t.Parallel()
		s, cfg := newService(t, status(http.StatusCreated))
		cfg.RootCAs = nil
		checkResults(t, want, newClient(t, cfg).Send(t.Context(), []push.Message{s.message("/")}))
		if got := len(s.got()); got != 0 {
			t.Errorf("received %d requests, want none", got)
		}
	})

	t.Run("no such name", func(t *testing.T) {
		t.Parallel()
		s, cfg := newService(t, status(http.StatusCreated))
		cfg.AllowedHosts, cfg.Resolver = []string{"push.example.com"}, resolver()
		checkResults(t, want, newClient(t, cfg).Send(t.Context(), []push.Message{s.messageTo("https://push.example.com/")}))
	})
}

// A status has been said, whether or not the rest comes.
func TestSlowRefusal(t *testing.T) {
	t.Parallel()
	s, cfg := newService(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(w, "unsubscribed")
		_ = http.NewResponseController(w).Flush()
		silence(w, r)
	})
	cfg.Timeout = 2 * time.Second
	got := newClient(t, cfg).Send(t.Context(), []push.Message{s.message("/")})
	want := []push.Result{{Verdict: push.Failed, Error: "gone", Detail: "410 unsubscribed", DisableDevice: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

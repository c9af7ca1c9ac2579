package auth

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

// edToken is signed with the Ed25519 test key and good for a day.
func edToken(t *testing.T, kid string) string {
	t.Helper()
	c := claims(jwt.MapClaims{"exp": time.Now().Add(24 * time.Hour).Unix()})
	return signed(t, jwt.SigningMethodEdDSA, testKeys().ed, kid, c)
}

// edJWKS is a set that holds the Ed25519 test key under each kid.
func edJWKS(t *testing.T, kids ...string) string {
	t.Helper()
	var b []string
	for _, kid := range kids {
		b = append(b, string(jwk(t, kid, testKeys().ed.Public(), nil)))
	}
	return `{"keys":[` + strings.Join(b, ",") + `]}`
}

func checkUnavailable(t *testing.T, v *Verifier) {
	t.Helper()
	_, err := v.Verify(t.Context(), edToken(t, "a"))
	if got := inbox.ErrorCode(err); got != inbox.Unavailable {
		t.Fatalf("got %v (%s), want %s", err, got, inbox.Unavailable)
	}
}

func TestKeysRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		v := verifierOf(t, issuer)
		checkVerify(t, v, edToken(t, "a"), "")
		issuer.serve(edJWKS(t, "a", "b"))
		checkVerify(t, v, edToken(t, "b"), "token's key is unknown")
		after(fetchFloor)
		checkVerify(t, v, edToken(t, "b"), "") // The unknown kid had the keys fetched.
		issuer.serve(edJWKS(t, "b"))
		checkVerify(t, v, edToken(t, "a"), "")
		after(fetchEvery)
		checkVerify(t, v, edToken(t, "a"), "token's key is unknown")
		checkVerify(t, v, edToken(t, "b"), "")
		issuer.serve(edJWKS(t))
		after(fetchEvery)
		checkVerify(t, v, edToken(t, "b"), "token's key is unknown")
	})
}

func TestUnknownKeysFetchSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		v := verifierOf(t, issuer)
		for range 3 {
			after(fetchFloor)
			var clients sync.WaitGroup
			for range 50 {
				clients.Go(func() { checkVerify(t, v, edToken(t, "made up"), "token's key is unknown") })
			}
			clients.Wait()
		}
		if got, want := issuer.fetches.Load(), int32(1+3); got != want {
			t.Errorf("got %d fetches, want %d: one at the start and one per %v", got, want, fetchFloor)
		}
	})
}

func TestIssuerUnreachableAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer("")
		issuer.fail()
		v := verifierOf(t, issuer)
		checkUnavailable(t, v)
		issuer.serve(edJWKS(t, "a"))
		checkUnavailable(t, v) // Nobody asks again so soon.
		after(fetchFloor)
		before := issuer.fetches.Load()
		checkVerify(t, v, edToken(t, "a"), "")
		if got := issuer.fetches.Load(); got != before {
			t.Errorf("got %d fetches by the request, want the background to have fetched", got-before)
		}
	})
}

func TestIssuerHangsAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer("")
		issuer.hang()
		start := time.Now()
		v := verifierOf(t, issuer)
		if got := time.Since(start); got != fetchTimeout {
			t.Errorf("Open took %v, want %v", got, fetchTimeout)
		}
		checkUnavailable(t, v)
	})
}

func TestIssuerFailsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		v := verifierOf(t, issuer)
		issuer.fail()
		after(2 * fetchEvery)
		checkVerify(t, v, edToken(t, "a"), "")
		checkVerify(t, v, edToken(t, "b"), "token's key is unknown")
		issuer.serve(edJWKS(t, "b"))
		after(fetchFloor)
		checkVerify(t, v, edToken(t, "b"), "")
	})
}

func TestVerifyGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		v := verifierOf(t, issuer)
		after(fetchFloor)
		issuer.hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := v.Verify(ctx, edToken(t, "b")); err == nil {
			t.Error("accepted")
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("Verify took %v, want its context's %v", got, time.Second)
		}
	})
}

func TestCloseEndsAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		v := verifierOf(t, issuer)
		after(fetchFloor)
		issuer.hang()
		start := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			checkVerify(t, v, edToken(t, "b"), "token's key is unknown")
		}()
		synctest.Wait()
		v.Close()
		<-done
		checkVerify(t, v, edToken(t, "a"), "")
		checkVerify(t, v, edToken(t, "b"), "token's key is unknown")
		if got := time.Since(start); got != 0 {
			t.Errorf("Close and what waited took %v", got)
		}
	})
}

func TestContextEndsTheRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := newIssuer(edJWKS(t, "a"))
		ctx, cancel := context.WithCancel(t.Context())
		cfg := Config{JWKSURL: "https://issuer.example/keys"}
		if _, err := open(ctx, cfg, slog.New(slog.DiscardHandler), issuer); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait() // A goroutine that is left fails the bubble.
	})
}

func TestFetchOverHTTP(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(edJWKS(t, "a")))
	}))
	t.Cleanup(elsewhere.Close)
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string // in the log; "" where the keys arrive
	}{
		{"good", answer(edJWKS(t, "a")), ""},
		{"redirect on the host", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				http.Redirect(w, r, "/v2/keys", http.StatusFound)
				return
			}
			answer(edJWKS(t, "a"))(w, r)
		}, ""},
		{"redirect to another host", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}, "redirect refused"},
		{"redirects without end", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/keys", http.StatusFound)
		}, "redirect refused"},
		{"too big", answer(`{"keys":[]}` + strings.Repeat(" ", maxJWKS)), "more than 1048576 bytes"},
		{"error page", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusBadGateway)
		}, "status 502"},
		{"not JSON", answer("<html>"), "parse: "},
		{"no keys", answer(`{"error":"gone"}`), "no keys member"},
		{"empty", answer(""), "parse: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewTLSServer(tt.handler)
			t.Cleanup(srv.Close)
			var log bytes.Buffer
			cfg := Config{JWKSURL: srv.URL + "/keys?key=hidden"}
			v, err := open(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), srv.Client().Transport)
			if err != nil {
				t.Fatal(err)
			}
			v.Close() // So that nothing writes the log while it is read.
			if strings.Contains(log.String(), "hidden") {
				t.Errorf("the log shows the URL: %s", &log)
			}
			if tt.want == "" {
				checkVerify(t, v, edToken(t, "a"), "")
				return
			}
			if !strings.Contains(log.String(), tt.want) {
				t.Errorf("got log %q, want %q in it", &log, tt.want)
			}
			checkUnavailable(t, v)
		})
	}
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// The transport of production, over plain http to this machine, and a port where nobody listens.
func TestOpenOverHTTP(t *testing.T) {
	srv := httptest.NewServer(answer(edJWKS(t, "a")))
	for _, want := range []inbox.Code{"", inbox.Unavailable} {
		v, err := Open(t.Context(), Config{JWKSURL: srv.URL}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(t.Context(), edToken(t, "a"))
		if got := inbox.ErrorCode(err); got != want {
			t.Errorf("got %v, want %q", err, want)
		}
		v.Close()
		srv.Close()
	}
}

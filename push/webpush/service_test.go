package webpush

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"belfry/push"
)

const testSubject = "mailto:ops@example.org"

// service is a push service: it takes what is properly signed, hands it to its one browser, which decrypts
// it, and answers as the test says.
type service struct {
	*httptest.Server
	browser   browser
	publicKey string // what browsers subscribed with

	mu       sync.Mutex
	received []received // mu guards it
}

type received struct {
	path      string
	header    http.Header
	plaintext string
	size      int
}

func newService(t *testing.T, answer http.HandlerFunc) (*service, Config) {
	t.Helper()
	publicKey, privateKey, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{browser: newBrowser(t), publicKey: publicKey}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.receive(r); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		answer(w, r)
	}))
	// What it would say of broken connections is what tests ask for.
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, s.config(privateKey)
}

func (s *service) config(privateKey string) Config {
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return Config{
		Subject: testSubject, PublicKey: s.publicKey, PrivateKey: privateKey,
		AllowedHosts: []string{s.Listener.Addr().String()}, AllowPrivate: true,
		RootCAs: roots, Logger: slog.New(slog.DiscardHandler),
	}
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// silence answers nothing until the client has hung up, nor then: a client that is just hanging up would
// still hear it.
func silence(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

func (s *service) receive(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := s.verify(r.Header.Get("Authorization"), "https://"+r.Host); err != nil {
		return err
	}
	plaintext, err := s.browser.decrypt(body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, received{r.URL.RequestURI(), r.Header, string(plaintext), len(body)})
	return nil
}

// verify holds a header against RFC 8292: sections 2 and 3.
func (s *service) verify(header, origin string) error {
	token, key, ok := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if !ok || key != s.publicKey {
		return errors.New("no vapid header of the subscription's key")
	}
	raw, err := base64url.DecodeString(key)
	if err != nil {
		return err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return err
	}
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(origin), jwt.WithSubject(testSubject), jwt.WithExpirationRequired())
	if err != nil {
		return err
	}
	expiry, err := parsed.Claims.GetExpirationTime()
	if err != nil || time.Until(expiry.Time) > 24*time.Hour {
		return errors.New("expires more than a day from now")
	}
	return nil
}

func (s *service) got() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

// message returns one for the service's browser at a path.
func (s *service) message(path string) push.Message { return s.messageTo(s.URL + path) }

func (s *service) messageTo(endpoint string) push.Message {
	return push.Message{
		ID: "0193a1b2", Token: s.browser.subscription(endpoint).String(), Platform: "web", Title: "Ada answered",
		NotificationID: "ntf_1", Kind: "comment.created", Category: "comments",
	}
}

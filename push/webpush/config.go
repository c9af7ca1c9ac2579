package webpush

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Urgency is how soon a message is worth waking a device for (RFC 8030, section 5.3).
type Urgency string

// The urgencies. A phone on battery puts off what is Normal or less.
const (
	VeryLow Urgency = "very-low"
	Low     Urgency = "low"
	Normal  Urgency = "normal"
	High    Urgency = "high"
)

// What a Config has that leaves them out.
const (
	DefaultTTL         = 24 * time.Hour
	DefaultTimeout     = 10 * time.Second
	DefaultConcurrency = 20
)

// maxTTL is the longest that Google's service keeps a message.
const maxTTL = 28 * 24 * time.Hour

// Config is what New needs. Zero values stand for the defaults; Subject, both keys and Logger have none.
type Config struct {
	// Subject is where a push service reaches the operator: a mailto: or an https: URL. Apple refuses
	// one at localhost with BadJwtToken.
	Subject string
	// PublicKey and PrivateKey are the VAPID pair in base64url without padding, as GenerateKeys makes
	// it. Browsers subscribe with the public one; with another pair every subscription is worthless.
	PublicKey, PrivateKey string
	// TTL is how long the service keeps a message for a browser that is offline: 1 s to 28 days.
	TTL     time.Duration
	Urgency Urgency
	// AllowedHosts says where messages may go, DefaultHosts where it is empty. An entry is a host, or *.
	// and a domain for all hosts below it at any depth, not the domain itself. With :port it means that
	// port, and 443 without.
	AllowedHosts []string
	// AllowPrivate lets addresses through that are not on the public internet: for a push service within
	// one's own network, and for tests.
	AllowPrivate bool
	// Timeout is the longest that one request takes, from the look-up of the name to the answer.
	Timeout time.Duration
	// Concurrency is the most requests at a time, over all calls of Send.
	Concurrency int
	// RootCAs is nil for the system's.
	RootCAs *x509.CertPool
	// Resolver is nil for the system's.
	Resolver *net.Resolver
	Logger   *slog.Logger
}

// New returns a client, or all that is wrong with the Config. No error holds a key.
func New(cfg Config) (*Client, error) {
	cfg.TTL = cmp.Or(cfg.TTL, DefaultTTL)
	cfg.Urgency = cmp.Or(cfg.Urgency, Normal)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Concurrency = cmp.Or(cfg.Concurrency, DefaultConcurrency)
	if len(cfg.AllowedHosts) == 0 {
		cfg.AllowedHosts = DefaultHosts()
	}
	key, keyErr := parseKeys(cfg.PublicKey, cfg.PrivateKey)
	hosts, hostsErr := parseHosts(cfg.AllowedHosts)
	if err := errors.Join(cfg.check(), keyErr, hostsErr); err != nil {
		return nil, err
	}
	return &Client{
		transport: newTransport(cfg),
		hosts:     hosts,
		signer:    &signer{key: key, publicKey: cfg.PublicKey, subject: cfg.Subject},
		ttl:       cfg.TTL,
		urgency:   cfg.Urgency,
		timeout:   cfg.Timeout,
		slots:     make(chan struct{}, cfg.Concurrency),
		logger:    cfg.Logger,
	}, nil
}

func (cfg Config) check() error {
	var errs []error
	if !isSubject(cfg.Subject) {
		errs = append(errs, errors.New("web push subject: must be a mailto: or an https: URL"))
	}
	if cfg.TTL < time.Second || cfg.TTL > maxTTL {
		errs = append(errs, errors.New("web push TTL: must be 1 s to 28 days"))
	}
	if !slices.Contains([]Urgency{VeryLow, Low, Normal, High}, cfg.Urgency) {
		errs = append(errs, errors.New("web push urgency: must be very-low, low, normal or high"))
	}
	if cfg.Timeout < 0 || cfg.Concurrency < 0 {
		errs = append(errs, errors.New("web push timeout and concurrency: must not be negative"))
	}
	if cfg.Logger == nil {
		errs = append(errs, errors.New("web push logger: is required"))
	}
	return errors.Join(errs...)
}

func isSubject(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	user, host, _ := strings.Cut(u.Opaque, "@")
	return u.Scheme == "https" && u.Hostname() != "" || u.Scheme == "mailto" && user != "" && host != ""
}

// newTransport goes to the addresses themselves: a proxy of the environment would be the only address
// that a dialler sees, and could be led anywhere.
func newTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Timeout / 2, Resolver: cfg.Resolver, ControlContext: checkAddress}
	if cfg.AllowPrivate {
		dialer.ControlContext = nil
	}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: cfg.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    cfg.Timeout / 2,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConnsPerHost:    cfg.Concurrency,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 16 << 10,
		DisableCompression:     true,
	}
}

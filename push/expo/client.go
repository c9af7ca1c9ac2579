// Package expo sends pushes by Expo's push service, https://docs.expo.dev/push-notifications/sending-notifications/.
//
// Expo has no idempotency key: what is sent twice is shown twice. So a message is sent again only where Expo
// has certainly not taken it, which the following table decides. Everything else has failed, with what is
// known of it kept for the ledger.
//
//	no connection came about             Requeued  not_connected
//	429                                  Requeued  Expo's code; the rate is halved, Retry-After kept
//	no turn within Timeout, or a pause   Requeued  busy, paused
//	401, 403, UNAUTHORIZED               Failed    Expo's code; an alarm in the log, and a pause of a minute
//	PUSH_TOO_MANY_EXPERIENCE_IDS         sent again by itself, once for each project
//	other 400, 413, 422                  sent again by itself in halves, until the message at fault is alone
//	other 3xx and 4xx                    Failed    Expo's code, or http_404
//	5xx                                  Failed    Expo's code, or http_504
//	200 with errors                      Failed    Expo's code
//	200 with anything but the tickets    Failed    bad_response, ticket_mismatch
//	no answer in time, or half of one    Failed    timeout, canceled, connection_lost
//
// A 5xx and a 200 with errors are ambiguous however clear their code: such requests were seen to be
// delivered all the same (https://github.com/expo/expo/issues/15152).
package expo

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"belfry/push"
)

// Expo's limits.
const (
	maxBatch    = 100 // messages a request
	maxReceipts = 300 // of 1,000 that Expo allows; its own SDK asks for 300
	maxRequests = 6   // at once
	maxPayload  = 4096
)

const (
	defaultBaseURL = "https://exp.host"
	defaultLimit   = 600
	defaultTimeout = 30 * time.Second
)

// Config is how to reach Expo.
type Config struct {
	// BaseURL is https://exp.host where it is empty.
	BaseURL string
	// AccessToken is sent as a bearer token; a project can be set up to need one. "" for none.
	AccessToken string
	// Project is the project that pushes are meant for, as in @owner/slug. With it the tokens of other
	// projects are disabled when Expo tells of them; "" sends to all.
	Project string
	// ChannelID is the Android channel of the pushes. Where it is "", Expo makes one. A channel that the app
	// has not made shows nothing.
	ChannelID string
	// Limit is the most messages a second, 600 where it is 0. It is Expo's limit of a project, so all
	// processes that send to one have to share it. A negative one is none.
	Limit int
	// Timeout bounds a request, and the time that it waits for its turn; 30 s where it is 0. A Send is over
	// within twice of it.
	Timeout time.Duration
	// Transport is what carries requests; nil for one of the client's own.
	Transport http.RoundTripper
	Logger    *slog.Logger
}

// Client sends by Expo. It is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
	turns  chan struct{} // holds one for each request under way
	pace   *pacer
}

var _ push.Sender = (*Client)(nil)

// New makes a client. Close ends its idle connections.
func New(config Config) *Client {
	if config.BaseURL == "" {
		config.BaseURL = defaultBaseURL
	}
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	if config.Limit == 0 {
		config.Limit = defaultLimit
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	if config.Transport == nil {
		config.Transport = newTransport()
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{
		config: config,
		http: &http.Client{
			Transport: config.Transport,
			// A redirect followed would be a second request, and with 307 a second send.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		turns: make(chan struct{}, maxRequests),
		pace:  newPacer(config.Limit),
	}
}

// newTransport makes what carries requests. A request on a connection that is dead has failed for good, since
// nobody knows; so connections are closed before Expo closes them, and those of HTTP/2 asked for a sign of
// life.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        maxRequests,
		MaxIdleConnsPerHost: maxRequests,
		MaxConnsPerHost:     maxRequests,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// Close ends connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// turn waits until a request of n messages may begin, and returns how to end its turn. ctx holds the time by
// which it has to.
func (c *Client) turn(ctx context.Context, n int) (end func(), err error) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	end = func() { <-c.turns }
	if err := c.pace.wait(ctx, n); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

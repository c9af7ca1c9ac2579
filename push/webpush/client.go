// Package webpush brings messages to browsers: Web Push (RFC 8030) with its encryption (RFC 8291) and with
// the server's identity, VAPID (RFC 8292).
//
// Endpoints come from clients, so a message goes only to hosts on a list, by https, to addresses on the
// public internet, and follows no redirect.
//
// What may have been taken is never sent again:
//
//	200, 201, 202                        Delivered  push services give no receipts
//	404, 410                             Failed     gone; the device is disabled
//	no subscription                      Failed     invalid_token; the device is disabled
//	400, 401, 403                        Failed     bad_request, credentials_rejected; an alarm in the log
//	413                                  Failed     payload_too_large
//	429                                  Requeued   rate_limited, after Retry-After
//	any other status, 3xx and 5xx        Failed     http_ and the status
//	no connection came about             Requeued   not_connected
//	no answer, or none that makes sense  Failed     timeout, connection_lost
//	ctx ended before, or during          Requeued   canceled; Failed where a connection was there
//	a host that is not on the list       Failed     host_not_allowed; the list may be put right
//	an address that is not public        Failed     address_not_allowed; an alarm in the log
//
// There is no Topic header, by which a service replaces a message that waits: none is sent twice, and
// Google keeps four topics a browser and drops the rest of what waits.
package webpush

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"belfry/inbox"
	"belfry/push"
)

// maxAnswer is the most that is read of what a push service says of a refusal, in bytes.
const maxAnswer = 4 << 10

// Client sends to push services. It is a push.Sender. Make one with New, and Close it.
type Client struct {
	transport *http.Transport
	hosts     hosts
	signer    *signer
	ttl       time.Duration
	urgency   Urgency
	timeout   time.Duration
	// slots bounds the requests that are under way.
	slots  chan struct{}
	logger *slog.Logger
}

var _ push.Sender = (*Client)(nil)

// Close closes the connections that wait for more. No Send may be under way.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Receipts returns nothing: push services give none that a server could ask for.
func (c *Client) Receipts(context.Context, []string) (map[string]push.Receipt, error) {
	return nil, nil
}

// Allows reports whether messages may go where a subscription says, so that a registration can be
// refused that would never get any.
func (c *Client) Allows(token string) bool {
	s, ok := inbox.ParseSubscription(token)
	if !ok {
		return false
	}
	u, err := url.Parse(s.Endpoint)
	return err == nil && c.hosts.allow(u)
}

// Send sends each message in a request of its own, several at a time.
func (c *Client) Send(ctx context.Context, messages []push.Message) []push.Result {
	outcomes := make([]outcome, len(messages))
	var wg sync.WaitGroup
	for i := range messages {
		select {
		case c.slots <- struct{}{}:
			wg.Go(func() {
				outcomes[i] = c.send(ctx, &messages[i])
				<-c.slots
			})
		case <-ctx.Done():
			outcomes[i] = requeued(codeCanceled, 0)
		}
	}
	wg.Wait()
	c.report(ctx, outcomes)
	results := make([]push.Result, len(messages))
	for i, o := range outcomes {
		results[i] = o.Result
	}
	return results
}

func (c *Client) send(ctx context.Context, m *push.Message) outcome {
	to, ok := inbox.ParseSubscription(m.Token)
	if !ok {
		return disabled(codeToken)
	}
	endpoint, err := url.Parse(to.Endpoint)
	if err != nil {
		return disabled(codeToken)
	}
	if !c.hosts.allow(endpoint) {
		return failed(codeHost)
	}
	plaintext, ok := encode(m, plaintextLimit(endpoint.Hostname()))
	if !ok {
		return failed(codeTooLarge)
	}
	body, err := encrypt(plaintext, to)
	if err != nil {
		return failed(codeInternal).because(err.Error())
	}
	authorization, err := c.signer.authorization(origin(endpoint), time.Now())
	if err != nil {
		return failed(codeInternal).because(err.Error())
	}
	o := c.post(ctx, endpoint, authorization, body)
	o.host = endpoint.Hostname()
	return o
}

// post makes the request. It goes to the transport itself, which follows no redirect, and whose errors,
// unlike those of http.Client, do not hold the endpoint.
func (c *Client) post(ctx context.Context, endpoint *url.URL, authorization string, body []byte) outcome {
	if ctx.Err() != nil {
		return requeued(codeCanceled, 0)
	}
	requestCtx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	// Without a connection nothing was written, so that nothing was taken.
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	req := &http.Request{
		Method: http.MethodPost,
		URL:    endpoint,
		Header: http.Header{
			"Authorization":    {authorization},
			"Content-Encoding": {"aes128gcm"},
			"Content-Type":     {"application/octet-stream"},
			"Ttl":              {strconv.Itoa(int(c.ttl / time.Second))},
			"Urgency":          {string(c.urgency)},
			"User-Agent":       {"Belfry"},
		},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		// The transport sends again only what an idle connection, or a server that drains, has not taken.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	res, err := c.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(requestCtx, trace)))
	if err != nil {
		return broken(ctx, err, connected.Load())
	}
	defer res.Body.Close()
	if isTaken(res.StatusCode) {
		return outcome{Result: push.Result{Verdict: push.Delivered}, status: res.StatusCode}
	}
	// The status alone decides; what follows it is for the ledger, and half of it is good enough.
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return refused(res, string(text), time.Now())
}

// broken says what became of a request that got no answer.
func broken(ctx context.Context, err error, connected bool) outcome {
	code := codeConnection
	if ctx.Err() != nil {
		code = codeCanceled
	} else if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		code = codeTimeout
	}
	switch {
	case errors.Is(err, errAddress):
		return failed(codeAddress)
	case connected:
		return failed(code).because(err.Error())
	case ctx.Err() != nil:
		return requeued(code, 0)
	default:
		return requeued(codeNotConnected, retryNotConnected).because(err.Error())
	}
}

// report tells the operator what only the operator can put right, once a Send and host.
func (c *Client) report(ctx context.Context, outcomes []outcome) {
	type fault struct {
		host, code string
		status     int
	}
	faults := map[fault]int{}
	for _, o := range outcomes {
		if o.Error == codeCredentials || o.Error == codeRequest || o.Error == codeAddress {
			faults[fault{o.host, o.Error, o.status}]++
		}
	}
	for f, n := range faults {
		c.logger.ErrorContext(ctx, "web push refused",
			slog.String("host", f.host), slog.String("error", f.code), slog.Int("status", f.status), slog.Int("messages", n))
	}
}

package expo

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sendPath     = "/--/api/v2/push/send"
	receiptsPath = "/--/api/v2/push/getReceipts"
	// maxResponse is how much of an answer is read; 300 receipts are a tenth of it.
	maxResponse = 1 << 20
	// gzipFrom is the length above which a body is packed, as in Expo's own SDK.
	gzipFrom = 1024
)

// response is an answer that was read to its end.
type response struct {
	status     int
	retryAfter time.Duration // 0 where there was none
	body       []byte
}

// errNotConnected is a request of which nothing was written.
var errNotConnected = errors.New("not connected")

// errTooLong is an answer above maxResponse.
var errTooLong = errors.New("the answer is too long")

// post sends a request, once, and reads its answer. An error other than errNotConnected says nothing about
// whether the request was taken.
func (c *Client) post(ctx context.Context, path string, body []byte) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	// net/http tells no errors before writing from errors after; that it got a connection does.
	var isConnected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { isConnected.Store(true) },
	})
	req, err := c.newRequest(ctx, path, body)
	if err != nil {
		return response{}, fmt.Errorf("%w: %w", errNotConnected, err)
	}
	resp, err := c.http.Do(req)
	if err != nil && !isConnected.Load() {
		return response{}, fmt.Errorf("%w: %w", errNotConnected, err)
	}
	if err != nil {
		return response{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(text) > maxResponse {
		err = errTooLong
	}
	return response{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now()), text}, err
}

// newRequest writes a request with the headers that Expo asks for. Accept-Encoding is net/http's own, gzip:
// it then unpacks the answer, too.
func (c *Client) newRequest(ctx context.Context, path string, body []byte) (*http.Request, error) {
	isPacked := len(body) > gzipFrom
	if isPacked {
		body = pack(body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "belfry")
	if isPacked {
		req.Header.Set("Content-Encoding", "gzip")
	}
	if c.config.AccessToken != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.AccessToken)
	}
	return req, nil
}

// packers holds *gzip.Writer: each has tables of a quarter of a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func pack(body []byte) []byte {
	w, _ := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	var packed bytes.Buffer
	packed.Grow(len(body) / 4)
	w.Reset(&packed)
	_, _ = w.Write(body) // a bytes.Buffer returns no error
	_ = w.Close()
	return packed.Bytes()
}

// retryAfter reads a Retry-After header, in seconds or as a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(longest.Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

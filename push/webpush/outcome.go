package webpush

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"belfry/push"
)

// The codes of a Result's Error.
const (
	codeGone        = "gone"                 // 404, 410: the browser has unsubscribed
	codeRequest     = "bad-request"          // 400: among others Apple's VapidPkHashMismatch
	codeCredentials = "credentials-rejected" //nolint:gosec // 401, 403: the VAPID keys or subject are not the subscription's
	codeTooLarge    = "payload-too-large"    // 413, and what does not fit at all
	codeRate        = "rate-limited"         // 429
	codeServer      = "server-error"         // 5xx
	codeStatus      = "unexpected-status"    // any other, redirects among them
	codeTimeout     = "timeout"              // connected, and no answer in time
	codeConnection  = "connection-lost"      // connected, and no answer that makes sense
	codeUnreachable = "unreachable"          // not connected
	codeCanceled    = "canceled"             // Belfry is stopping
	codeHost        = "host-not-allowed"     // not on the list
	codeAddress     = "address-not-allowed"  // not on the public internet
	codeToken       = "invalid-token"        // no subscription
	codeInternal    = "internal"
)

// How long to wait where nobody says, and at the most.
const (
	retryUnreachable = time.Minute
	retryDefault     = time.Minute
	retryMost        = 24 * time.Hour
)

// maxDetail is the longest Detail, in bytes.
const maxDetail = 1000

// outcome is a result with what the log says of it.
type outcome struct {
	push.Result
	host   string
	status int
}

func failed(code string) outcome {
	return outcome{Result: push.Result{Verdict: push.Failed, Error: code}}
}

// disabled is a failure that every message to the device would meet.
func disabled(code string) outcome {
	o := failed(code)
	o.DisableDevice = true
	return o
}

func requeued(code string, after time.Duration) outcome {
	return outcome{Result: push.Result{Verdict: push.Requeued, Error: code, RetryAfter: after}}
}

func (o outcome) because(text string) outcome {
	o.Detail = clean(text)
	return o
}

// isTaken reports whether a push service has the message: 201 by RFC 8030, 202 where a receipt is asked
// for, 200 in the wild.
func isTaken(status int) bool {
	return status == http.StatusOK || status == http.StatusCreated || status == http.StatusAccepted
}

// refused says what became of a message from an answer that is not isTaken.
func refused(res *http.Response, text string, now time.Time) outcome {
	var o outcome
	switch status := res.StatusCode; {
	case status == http.StatusNotFound || status == http.StatusGone:
		o = disabled(codeGone)
	case status == http.StatusBadRequest:
		o = failed(codeRequest)
	// Were these to disable, one wrong key would end every device.
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		o = failed(codeCredentials)
	case status == http.StatusRequestEntityTooLarge:
		o = failed(codeTooLarge)
	case status == http.StatusTooManyRequests:
		o = requeued(codeRate, retryAfter(res.Header.Get("Retry-After"), now))
	// A gateway that gives up says nothing of what stands behind it, not even with a Retry-After.
	case status >= http.StatusInternalServerError:
		o = failed(codeServer)
	default:
		o = failed(codeStatus)
	}
	o.status = res.StatusCode
	return o.because(fmt.Sprintf("%d %s", res.StatusCode, text))
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	wait := retryDefault
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, time.Second), retryMost)
}

// clean makes text fit for the ledger: one line of at most maxDetail bytes of UTF-8.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= maxDetail {
		return text
	}
	n := maxDetail
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

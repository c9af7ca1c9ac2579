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

// The codes of a Result's Error. A status without a code of its own is http_ and its number.
const (
	codeAddress      = "address_not_allowed" // the host's, not on the public internet
	codeCanceled     = "canceled"
	codeConnection   = "connection_lost"
	codeCredentials  = "credentials_rejected" //nolint:gosec // A code.
	codeGone         = "gone"
	codeHost         = "host_not_allowed"
	codeInternal     = "internal"
	codeNotConnected = "not_connected"
	codeRate         = "rate_limited"
	codeRequest      = "bad_request"
	codeTimeout      = "timeout"
	codeToken        = "invalid_token"
	codeTooLarge     = "payload_too_large"
)

// How long to wait where nobody says, and at the most.
const (
	retryNotConnected = time.Minute
	retryDefault      = time.Minute
	retryMost         = 24 * time.Hour
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
	switch res.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		o = disabled(codeGone)
	case http.StatusBadRequest:
		o = failed(codeRequest)
	// Were these to disable, one wrong key would end every device.
	case http.StatusUnauthorized, http.StatusForbidden:
		o = failed(codeCredentials)
	case http.StatusRequestEntityTooLarge:
		o = failed(codeTooLarge)
	case http.StatusTooManyRequests:
		o = requeued(codeRate, retryAfter(res.Header.Get("Retry-After"), now))
	// A gateway that gives up with 5xx says nothing of what stands behind it, not even by a Retry-After.
	default:
		o = failed("http_" + strconv.Itoa(res.StatusCode))
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

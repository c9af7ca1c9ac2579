package inbox

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// UserErrorCode classifies an expected failure of a mutation.
type UserErrorCode string

// The codes of expected failures.
const (
	// Invalid is a value that can't be right.
	Invalid UserErrorCode = "INVALID"
	// NotFound is an object that does not exist or may not be seen.
	NotFound UserErrorCode = "NOT_FOUND"
	// TooLarge is a value longer than allowed.
	TooLarge UserErrorCode = "TOO_LARGE"
	// IdempotencyConflict is a key that was used before for other content.
	IdempotencyConflict UserErrorCode = "IDEMPOTENCY_CONFLICT"
)

// UserError is an expected failure that the caller can act on. Where one is returned, nothing was
// written.
type UserError struct {
	Code    UserErrorCode
	Message string
	// Field is the path of the offending input, e.g. input, recipients, 3.
	Field []string
}

// maxUserErrors bounds an answer: 10,000 bad recipients are one mistake, not 10,000.
const maxUserErrors = 20

// maxURL is the longest URL, in bytes.
const maxURL = 2048

// maxAhead is how far a client's clock may run ahead of the server's.
const maxAhead = 24 * time.Hour

// earliest is the first instant that an object can have been created at.
var earliest = time.Unix(0, 0)

// checker collects what is wrong with an input.
type checker struct {
	errors []*UserError
}

func (c *checker) add(code UserErrorCode, message string, field []string) {
	if len(c.errors) < maxUserErrors {
		// The clone lets the paths that nobody needs, which are most, stay off the heap.
		c.errors = append(c.errors, &UserError{Code: code, Message: message, Field: slices.Clone(field)})
	}
}

func (c *checker) invalid(message string, field ...string) { c.add(Invalid, message, field) }

func (c *checker) tooLarge(message string, field ...string) { c.add(TooLarge, message, field) }

// userID wants an id that can name a user.
func (c *checker) userID(id string, field ...string) {
	switch {
	case id == "":
		c.invalid("a user id must not be empty", field...)
	case len(id) > MaxUserID:
		c.tooLarge(fmt.Sprintf("a user id has at most %d bytes", MaxUserID), field...)
	case !ValidUserID(id):
		c.invalid("a user id must be UTF-8 without control characters", field...)
	}
}

// line wants one line of text of least to most bytes.
func (c *checker) line(s string, least, most int, field ...string) {
	switch {
	case len(s) < least || least > 0 && strings.TrimSpace(s) == "":
		c.invalid("must not be empty", field...)
	case len(s) > most:
		c.tooLarge(fmt.Sprintf("must have at most %d bytes", most), field...)
	case !utf8.ValidString(s) || hasControl(s):
		c.invalid("must be UTF-8 without control characters", field...)
	}
}

// text wants text of at most so many bytes, in which tabs and line breaks may stand.
func (c *checker) text(s *string, most int, field ...string) {
	if s == nil {
		return
	}
	isBad := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
	switch {
	case len(*s) > most:
		c.tooLarge(fmt.Sprintf("must have at most %d bytes", most), field...)
	case !utf8.ValidString(*s) || strings.ContainsFunc(*s, isBad):
		c.invalid("must be UTF-8 without control characters", field...)
	}
}

// url wants an absolute http or https URL, so that no client is led to run a script.
func (c *checker) url(s *string, field ...string) {
	if s == nil {
		return
	}
	if len(*s) > maxURL {
		c.tooLarge(fmt.Sprintf("must have at most %d bytes", maxURL), field...)
		return
	}
	u, err := url.Parse(*s)
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	// Browsers drop blanks and control characters, so that what they open is not what was checked.
	if !isWeb || !utf8.ValidString(*s) || hasControl(*s) || strings.ContainsFunc(*s, unicode.IsSpace) {
		c.invalid("must be an absolute http or https URL", field...)
	}
}

// json wants at most 4 KiB.
func (c *checker) json(data json.RawMessage, field ...string) {
	if len(data) > maxData {
		c.tooLarge(fmt.Sprintf("must have at most %d bytes of JSON", maxData), field...)
	}
}

// instant wants a time from 1970 to a day ahead of now.
func (c *checker) instant(t *time.Time, now time.Time, field ...string) {
	if t != nil && (t.Before(earliest) || t.After(now.Add(maxAhead))) {
		c.invalid("must lie between 1970 and a day from now", field...)
	}
}

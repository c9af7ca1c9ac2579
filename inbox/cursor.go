package inbox

import (
	"encoding/base64"
	"strings"
	"time"
)

// TimeLayout is how Belfry writes an instant: RFC 3339 in UTC, always with six fractional digits.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// AppendTime appends an instant as TimeLayout has it, in a fraction of the time that the layout takes to
// be read: a page of 100 edges holds some 300 of them.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, TimeLayout)
	}
	hour, minute, second := t.Clock()
	b = appendTwoDigits(b, year/100)
	b = appendTwoDigits(b, year%100)
	b = appendTwoDigits(append(b, '-'), int(month))
	b = appendTwoDigits(append(b, '-'), day)
	b = appendTwoDigits(append(b, 'T'), hour)
	b = appendTwoDigits(append(b, ':'), minute)
	b = appendTwoDigits(append(b, ':'), second)
	micros := t.Nanosecond() / 1000
	b = appendTwoDigits(append(b, '.'), micros/10000)
	b = appendTwoDigits(b, micros/100%100)
	b = appendTwoDigits(b, micros%100)
	return append(b, 'Z')
}

func appendTwoDigits(b []byte, n int) []byte {
	const digits = "0123456789"
	return append(b, digits[n/10], digits[n%10])
}

// Cursor is a position in a list that is ordered by (CreatedAt, ID), newest first. It is a place, not
// a row: it stays good after its row is gone. It names no user.
type Cursor struct {
	// CreatedAt is in UTC and in whole microseconds.
	CreatedAt time.Time
	ID        UUID
}

// maxCursor is the length of every cursor as text: 27 bytes of time, a bar and a UUID in base64.
var maxCursor = base64.RawURLEncoding.EncodedLen(len(TimeLayout) + 1 + uuidLen)

// String returns the cursor as clients see it: base64url("<createdAt>|<id>") without padding.
func (c Cursor) String() string {
	return string(c.Append(make([]byte, 0, maxCursor)))
}

// Append appends what String returns.
func (c Cursor) Append(b []byte) []byte {
	var buf [len(TimeLayout) + 1 + uuidLen]byte
	text := append(AppendTime(buf[:0], c.CreatedAt), '|')
	return base64.RawURLEncoding.AppendEncode(b, c.ID.append(text))
}

// ParseCursor reads what String writes, and nothing else: two texts never mean one position, since
// clients splice pages by comparing cursors as strings.
func ParseCursor(s string) (Cursor, bool) {
	if len(s) > maxCursor {
		return Cursor{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return Cursor{}, false
	}
	text := string(raw)
	bar := strings.LastIndexByte(text, '|')
	if bar < 0 {
		return Cursor{}, false
	}
	at, err := time.Parse(TimeLayout, text[:bar])
	if err != nil {
		return Cursor{}, false
	}
	id, ok := ParseUUID(text[bar+1:])
	c := Cursor{CreatedAt: at, ID: id}
	// The comparison catches what the lenient parts let through, line breaks in base64 among them.
	if !ok || c.String() != s {
		return Cursor{}, false
	}
	return c, true
}

// Compare orders cursors from older to newer.
func (c Cursor) Compare(d Cursor) int {
	if n := c.CreatedAt.Compare(d.CreatedAt); n != 0 {
		return n
	}
	return strings.Compare(string(c.ID[:]), string(d.ID[:]))
}

// JustBelow returns the greatest position that is older than c.
func (c Cursor) JustBelow() Cursor {
	id, ok := c.ID.previous()
	if !ok {
		return Cursor{c.CreatedAt.Add(-time.Microsecond), MaxUUID}
	}
	return Cursor{c.CreatedAt, id}
}

// JustAbove returns the least position that is newer than c.
func (c Cursor) JustAbove() Cursor {
	id, ok := c.ID.next()
	if !ok {
		return Cursor{c.CreatedAt.Add(time.Microsecond), MinUUID}
	}
	return Cursor{c.CreatedAt, id}
}

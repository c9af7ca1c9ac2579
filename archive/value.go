package archive

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"belfry/inbox"
)

// optional reads a text, nil for null.
func (s *scanner) optional() *string {
	if s.null() {
		return nil
	}
	text := s.string()
	return &text
}

// instant reads a time and cuts it to microseconds, as the API does; nil for null.
func (s *scanner) instant() *time.Time {
	text := s.optional()
	if text == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		s.failf("must be a time of RFC 3339 with its zone, such as 2026-11-30T17:34:47.517975Z")
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}

// moment is instant for a time that must be there.
func (s *scanner) moment() time.Time {
	t := s.instant()
	if t == nil {
		s.failf("must be a time of RFC 3339")
		return time.Time{}
	}
	return *t
}

// json reads any value and writes it as the API does, so that the same value has the same digest: members in the
// order of their names, no blanks, numbers as they were. Nil for null.
func (s *scanner) json() json.RawMessage {
	if s.null() {
		return nil
	}
	raw := s.raw()
	if s.err != nil {
		return nil
	}
	var v any
	decoder := json.NewDecoder(strings.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil || decoder.InputOffset() != int64(len(raw)) {
		s.failf("is not JSON")
		return nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		s.failf("is not JSON")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// nodeID reads an opaque id of a kind; nil for null.
func (s *scanner) nodeID(kinds ...inbox.Kind) *inbox.NodeID {
	text := s.optional()
	if text == nil {
		return nil
	}
	if id, ok := inbox.ParseNodeID(*text); ok {
		for _, k := range kinds {
			if id.Kind == k {
				return &id
			}
		}
	}
	s.failf("must be an id that begins with %s_", kinds[0])
	return nil
}

// uuid reads a UUID.
func (s *scanner) uuid() inbox.UUID {
	u, ok := inbox.ParseUUID(s.string())
	if !ok {
		s.failf("must be a UUID in lower case")
	}
	return u
}

// cursor reads a position.
func (s *scanner) cursor() inbox.Cursor {
	c, ok := inbox.ParseCursor(s.string())
	if !ok {
		s.failf("must be a cursor")
	}
	return c
}

// digest reads a SHA-256 in hex.
func (s *scanner) digest(into []byte) {
	text := s.string()
	if n, err := hex.Decode(into, []byte(text[:min(len(text), hex.EncodedLen(len(into)))])); err != nil || n != len(into) ||
		len(text) != hex.EncodedLen(n) {
		s.failf("must be a SHA-256 in hex")
	}
}

// unknown notes that no such member exists.
func (s *scanner) unknown() { s.failf("there is no such field") }

// owned wants an id to be the user's own.
func (s *scanner) owned(field string, id *inbox.NodeID, userID string) bool {
	switch {
	case s.err != nil:
		return false
	case id == nil:
		s.fail(field, "is required")
	case id.UserID != userID:
		s.fail(field, "is not the user's")
	}
	return s.err == nil
}

// enum reads a text of a type of its own; nil for null.
func enum[T ~string](s *scanner) *T {
	text := s.optional()
	if text == nil {
		return nil
	}
	return new(T(*text))
}

package inbox

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// Kind is a type that implements Node.
type Kind string

// The kinds, each the prefix of its ids.
const (
	KindUser         Kind = "usr"
	KindAccount      Kind = "acc"
	KindSettings     Kind = "set"
	KindNotification Kind = "ntf"
	KindDevice       Kind = "dev"
	KindActivity     Kind = "act"
	KindItem         Kind = "itm"
)

// NodeID is what stands behind an opaque id: enough to find the row by its primary key.
type NodeID struct {
	Kind   Kind
	UserID string
	// Position is the place in the user's list with KindNotification and KindActivity; with KindDevice and KindItem
	// it has the ID alone.
	Position Cursor
}

// The lengths of what an id holds ahead of the user's id, in bytes: microseconds since 1970, and a UUID.
const (
	timeLen     = 8
	positionLen = timeLen + 16
)

// maxNodeID is the longest id as text.
var maxNodeID = len("ntf_") + base64.RawURLEncoding.EncodedLen(positionLen+MaxUserID)

// String returns the id as clients see it: the kind, an underscore and the key in base64url.
func (n NodeID) String() string { return string(n.Append(make([]byte, 0, maxNodeID))) }

// Append appends what String returns.
func (n NodeID) Append(b []byte) []byte {
	var buf [positionLen + MaxUserID]byte
	key := buf[:0]
	if n.Kind.hasTime() {
		//nolint:gosec // Two's complement both ways: times before 1970 come back as they went.
		key = binary.BigEndian.AppendUint64(key, uint64(n.Position.CreatedAt.UnixMicro()))
	}
	if n.Kind.hasUUID() {
		key = append(key, n.Position.ID[:]...)
	}
	key = append(key, n.UserID...)
	b = append(append(b, n.Kind...), '_')
	return base64.RawURLEncoding.AppendEncode(b, key)
}

// ParseNodeID reads what String writes, and nothing else.
func ParseNodeID(s string) (NodeID, bool) {
	if len(s) > maxNodeID {
		return NodeID{}, false
	}
	kind, text, _ := strings.Cut(s, "_")
	n := NodeID{Kind: Kind(kind)}
	key, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || !n.Kind.valid() {
		return NodeID{}, false
	}
	if n.Kind.hasTime() {
		if len(key) < timeLen {
			return NodeID{}, false
		}
		//nolint:gosec // See String.
		n.Position.CreatedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(key))).UTC()
		key = key[timeLen:]
	}
	if n.Kind.hasUUID() {
		if len(key) < len(UUID{}) {
			return NodeID{}, false
		}
		n.Position.ID = UUID(key[:len(UUID{})])
		key = key[len(UUID{}):]
	}
	n.UserID = string(key)
	if !ValidUserID(n.UserID) || !storableTime(n.Position.CreatedAt) || n.String() != s {
		return NodeID{}, false
	}
	return n, true
}

func (k Kind) valid() bool {
	switch k {
	case KindUser, KindAccount, KindSettings, KindNotification, KindDevice, KindActivity, KindItem:
		return true
	}
	return false
}

func (k Kind) hasTime() bool { return k == KindNotification || k == KindActivity }

func (k Kind) hasUUID() bool { return k.hasTime() || k == KindDevice || k == KindItem }

// storableTime reports whether Postgres and RFC 3339 can both hold the instant.
func storableTime(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

// Node is an object with an identity of its own. Beside NodeID some have an AppendNodeID, which appends the
// same: what stands in lists is rendered by it.
type Node interface {
	NodeID() string
}

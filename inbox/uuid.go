package inbox

import "encoding/hex"

// UUID identifies a notification among all that share an instant. Belfry's own are of version 7, so
// that their order is the order of arrival.
type UUID [16]byte

// The least and the greatest UUID, for ranges without an end.
var (
	MinUUID = UUID{}
	MaxUUID = UUID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

// uuidLen is the length of a UUID as text.
const uuidLen = 36

// String returns the UUID in lower case with hyphens.
func (u UUID) String() string {
	var buf [uuidLen]byte
	return string(u.append(buf[:0]))
}

// append appends what String returns.
func (u UUID) append(b []byte) []byte {
	b = hex.AppendEncode(b, u[0:4])
	b = hex.AppendEncode(append(b, '-'), u[4:6])
	b = hex.AppendEncode(append(b, '-'), u[6:8])
	b = hex.AppendEncode(append(b, '-'), u[8:10])
	return hex.AppendEncode(append(b, '-'), u[10:16])
}

// ParseUUID reads what String writes, and nothing else: no braces, no capitals, no missing hyphens.
func ParseUUID(s string) (UUID, bool) {
	if len(s) != uuidLen {
		return UUID{}, false
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	var u UUID
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil || u.String() != s {
		return UUID{}, false
	}
	return u, true
}

// previous returns the UUID just below u, and false for the least one.
func (u UUID) previous() (UUID, bool) {
	for i := len(u) - 1; i >= 0; i-- {
		u[i]--
		if u[i] != 0xff {
			return u, true
		}
	}
	return MaxUUID, false
}

// next returns the UUID just above u, and false for the greatest one.
func (u UUID) next() (UUID, bool) {
	for i := len(u) - 1; i >= 0; i-- {
		u[i]++
		if u[i] != 0 {
			return u, true
		}
	}
	return MinUUID, false
}

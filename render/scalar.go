package render

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// AppendNull appends null.
func AppendNull(b []byte) []byte { return append(b, "null"...) }

// AppendInt appends an Int.
func AppendInt[T ~int | ~int32 | ~int64](b []byte, v T) []byte {
	return strconv.AppendInt(b, int64(v), 10)
}

// AppendBoolean appends a Boolean.
func AppendBoolean(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// AppendFloat appends a Float. It returns false for what JSON has no number for.
func AppendFloat(b []byte, v float64) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b, false
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64), true
}

// AppendMarshaler appends what a scalar without an appending function marshals to. It returns false for a
// null, which may be an error.
func AppendMarshaler(b []byte, m graphql.Marshaler) ([]byte, bool) {
	if m == graphql.Null {
		return b, false
	}
	buf := bytes.NewBuffer(b)
	m.MarshalGQL(buf)
	return buf.Bytes(), true
}

const upperHex = "0123456789ABCDEF"

// AppendString appends a String as gqlgen does: with the escapes that JSON asks for and no others. Bytes that
// are no UTF-8 stay as they are.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for {
		n := plainLength(s)
		b = append(b, s[:n]...)
		if n == len(s) {
			return append(b, '"')
		}
		b = appendEscaped(b, s[n])
		s = s[n+1:]
	}
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\t':
		return append(b, `\t`...)
	case '\r':
		return append(b, `\r`...)
	case '\n':
		return append(b, `\n`...)
	}
	return append(b, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&0xf])
}

// plainLength returns how many bytes at the start of s stand for themselves. It looks at eight at a time:
// most of what a page holds is text without a single escape.
func plainLength(s string) int {
	const each = 0x0101010101010101
	// zeros has the high bit of each byte of x that is zero, and of no byte below the first one.
	zeros := func(x uint64) uint64 { return (x - each) &^ x & (each * 0x80) }
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		controls := (x - each*0x20) &^ x & (each * 0x80)
		if found := controls | zeros(x^(each*'"')) | zeros(x^(each*'\\')); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

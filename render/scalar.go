package render

import (
	"bytes"
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
func AppendString[T ~string](b []byte, s T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&0xf])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

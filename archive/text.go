package archive

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a text.
func (s *scanner) string() string {
	if !s.take('"') {
		s.wrongType("a string")
		return ""
	}
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1]
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			s.failf("has a control character that is not escaped")
			return ""
		}
	}
	s.syntax("a closing quote")
	return ""
}

// unescaped has what a backslash and a letter stand for.
var unescaped = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escaped reads on from the first backslash of a text that begins at start.
func (s *scanner) escaped(start int) string {
	var b strings.Builder
	b.WriteString(s.text[start:s.at])
	for s.err == nil && s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return b.String()
		case c < ' ':
			s.failf("has a control character that is not escaped")
		case c != '\\':
			b.WriteByte(c)
		case s.at < len(s.text) && s.text[s.at] == 'u':
			s.at++
			b.WriteRune(s.unicode())
		case s.at < len(s.text):
			letter, ok := unescaped[s.text[s.at]]
			if !ok {
				s.syntax("what can be escaped")
			}
			s.at++
			b.WriteByte(letter)
		}
	}
	s.syntax("a closing quote")
	return ""
}

// unicode reads the digits after \u, and the other half where they are one of a pair.
func (s *scanner) unicode() rune {
	r := s.hex()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if strings.HasPrefix(s.text[s.at:], `\u`) {
		s.at += len(`\u`)
		if pair := utf16.DecodeRune(r, s.hex()); pair != utf8.RuneError {
			return pair
		}
	}
	s.failf("has half of a surrogate pair")
	return 0
}

// hex reads four hexadecimal digits.
func (s *scanner) hex() rune {
	const digits = 4
	if s.at+digits > len(s.text) {
		s.at = len(s.text)
		s.syntax("a digit")
		return 0
	}
	n, err := strconv.ParseUint(s.text[s.at:s.at+digits], 16, 16)
	if err != nil {
		s.syntax("four hexadecimal digits")
		return 0
	}
	s.at += digits
	return rune(n)
}

package http

import (
	"bytes"
	"encoding/json"
	"iter"
)

// jsonSpace is what may stand between JSON's tokens (RFC 8259, section 2).
const jsonSpace = " \t\r\n"

// members yields the members of a valid JSON object in UTF-8, repeated ones too: the name, and the value as it
// is written.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		rest := bytes.TrimLeft(object, jsonSpace)[1:]
		for {
			if rest = bytes.TrimLeft(rest, ","+jsonSpace); rest[0] == '}' {
				return
			}
			end := endOfString(rest)
			name := unquote(rest[:end])
			rest = bytes.TrimLeft(bytes.TrimLeft(rest[end:], jsonSpace)[1:], jsonSpace) // a colon
			end = endOfValue(rest)
			if !yield(name, rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

func unquote(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // it is valid
	return s
}

// endOfString returns how long the string is that a text begins with.
func endOfString(text []byte) int {
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// endOfValue returns how long the value is that a text begins with.
func endOfValue(text []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch text[i] {
		case '"':
			i += endOfString(text[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // of the object around a number or a word
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
}

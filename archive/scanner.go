package archive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scanner reads the JSON of one line, which must be valid UTF-8. After the first fault, which is in err, every
// method returns nothing.
//
// encoding/json takes a member that is there twice, names in other cases and halves of surrogate pairs, and
// changes the last; and it is several times slower, where the aim is 100,000 lines a second.
type scanner struct {
	text  string
	at    int
	path  []string // of the value at hand: tags, 3
	names []string // of the members so far, of all objects that are open
	err   error
}

// reset begins another line.
func (s *scanner) reset(text string) { *s = scanner{text: text, path: s.path[:0], names: s.names[:0]} }

// failf notes a fault of the value at hand.
func (s *scanner) failf(format string, args ...any) {
	if s.err != nil {
		return
	}
	s.err = fmt.Errorf(format, args...)
	if len(s.path) > 0 {
		s.err = fmt.Errorf("%s: %w", printable(s.path), s.err)
	}
}

// fail notes a fault of a member of the whole line.
func (s *scanner) fail(name, message string) {
	s.path = append(s.path[:0], name)
	s.failf("%s", message)
}

// printable writes a path as tags.3. What a terminal might obey, or nobody would read, is quoted and cut.
func printable(path []string) string {
	const longest = 40
	names := make([]string, len(path))
	for i, name := range path {
		if len(name) > longest || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
			name = fmt.Sprintf("%.*q", longest, name)
		}
		names[i] = name
	}
	return strings.Join(names, ".")
}

// syntax notes that the text is not JSON.
func (s *scanner) syntax(wanted string) {
	if s.err != nil {
		return
	}
	if s.at >= len(s.text) {
		s.err = fmt.Errorf("ends within its JSON: was the file cut off?")
		return
	}
	s.err = fmt.Errorf("not JSON: byte %d should be %s", s.at+1, wanted)
}

// blank passes over white space and returns the byte behind it, 0 at the end.
func (s *scanner) blank() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// take passes over a byte if it comes next.
func (s *scanner) take(c byte) bool {
	if s.err == nil && s.blank() == c && s.at < len(s.text) {
		s.at++
		return true
	}
	return false
}

// object calls member for each member of the object that comes next, whose value member must read.
func (s *scanner) object(member func(name string)) {
	if !s.take('{') {
		s.wrongType("an object")
		return
	}
	first := len(s.names)
	for n := 0; s.err == nil && !s.take('}'); n++ {
		if n > 0 && !s.take(',') {
			s.syntax("a comma or a closing brace")
			return
		}
		if s.blank() != '"' {
			s.syntax("the name of a member")
			return
		}
		name := s.string()
		if !s.take(':') {
			s.syntax("a colon")
			return
		}
		s.path = append(s.path, name)
		if slices.Contains(s.names[first:], name) {
			s.failf("is there twice")
		}
		s.names = append(s.names, name)
		member(name)
		s.path = s.path[:len(s.path)-1]
	}
	s.names = s.names[:first]
}

// array calls element for each element of the array that comes next, which element must read.
func (s *scanner) array(element func()) {
	if !s.take('[') {
		s.wrongType("an array")
		return
	}
	for n := 0; s.err == nil && !s.take(']'); n++ {
		if n > 0 && !s.take(',') {
			s.syntax("a comma or a closing bracket")
			return
		}
		s.path = append(s.path, strconv.Itoa(n))
		element()
		s.path = s.path[:len(s.path)-1]
	}
}

// wrongType notes that the next value is not what it must be, or none.
func (s *scanner) wrongType(wanted string) {
	if c := s.blank(); c == 0 || !strings.ContainsRune(`"{[-0123456789tfn`, rune(c)) {
		s.syntax("a value")
		return
	}
	s.failf("must be %s", wanted)
}

// raw returns the JSON of the next value, of which nothing is sure but where it ends.
func (s *scanner) raw() string {
	c := s.blank()
	start := s.at
	switch c {
	case '"':
		s.string()
	case '{', '[':
		s.brackets()
	default:
		for s.at < len(s.text) && !strings.ContainsRune(",}] \t\r\n", rune(s.text[s.at])) {
			s.at++
		}
		if s.at == start {
			s.syntax("a value")
		}
	}
	return s.text[start:s.at]
}

// brackets passes over what is between the bracket that comes next and its counterpart.
func (s *scanner) brackets() {
	for depth := 0; s.err == nil; {
		if s.at >= len(s.text) {
			s.syntax("a closing bracket")
			return
		}
		switch s.text[s.at] {
		case '"':
			s.string()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}

// null passes over a null if it comes next.
func (s *scanner) null() bool {
	if s.err != nil || s.blank() != 'n' || !strings.HasPrefix(s.text[s.at:], "null") {
		return false
	}
	s.at += len("null")
	return true
}

// boolean reads true or false.
func (s *scanner) boolean() bool {
	for _, word := range []string{"true", "false"} {
		if s.blank(); s.err == nil && strings.HasPrefix(s.text[s.at:], word) {
			s.at += len(word)
			return word == "true"
		}
	}
	s.wrongType("true or false")
	return false
}

// end wants nothing more.
func (s *scanner) end() {
	if s.err == nil && (s.blank() != 0 || s.at < len(s.text)) {
		s.syntax("the end of the line")
	}
}

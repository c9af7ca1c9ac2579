package inbox

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxUserID is the longest user id, in bytes.
const MaxUserID = 128

// ValidUserID reports whether id can name a user: the host application's own string, 1 to 128
// bytes of UTF-8 without control characters.
func ValidUserID(id string) bool {
	return id != "" && len(id) <= MaxUserID && utf8.ValidString(id) && !hasControl(id)
}

// hasControl reports whether s holds a control character, the NUL that Postgres refuses among them.
func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

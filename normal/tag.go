// Package normal brings texts into the form in which they are stored and compared, where that takes more than the
// standard library.
package normal

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Tag returns a tag in NFC, so that what looks the same is the same, and without white space around it. What is
// cut off NFC stays NFC.
func Tag(tag string) string { return strings.TrimSpace(norm.NFC.String(tag)) }

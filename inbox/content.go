package inbox

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// content gathers what two uses of one idempotency key must have in common.
type content []byte

// newContent begins with a version, which lets a later Belfry change what is hashed.
func newContent() content { return append(make(content, 0, 512), 1) }

// text adds a text, or that there is none.
func (c *content) text(s *string) {
	if s == nil {
		*c = append(*c, 0)
		return
	}
	*c = binary.AppendUvarint(append(*c, 1), uint64(len(*s)))
	*c = append(*c, *s...)
}

// instant adds a time, or that there is none.
func (c *content) instant(t *time.Time) {
	if t == nil {
		*c = append(*c, 0)
		return
	}
	*c = binary.AppendVarint(append(*c, 1), t.UnixMicro())
}

// hash returns the digest of all that was added.
func (c content) hash() [sha256.Size]byte { return sha256.Sum256(c) }

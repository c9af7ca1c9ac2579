package storage

import "errors"

// errNull is what a column has that must have a value.
var errNull = errors.New("unexpected null")

// repeated is a text that is often the same in one row after the other: then it is not copied again.
type repeated string

// ScanBytes implements pgtype.BytesScanner.
func (r *repeated) ScanBytes(src []byte) error {
	if src == nil {
		return errNull
	}
	if string(src) != string(*r) {
		*r = repeated(src)
	}
	return nil
}

// texts gathers the texts of a row, which then have one string between them.
type texts struct{ gathered []byte }

// textColumn is a text of a row, or null.
type textColumn struct {
	row      *texts
	from, to int
	isNull   bool
}

// ScanBytes implements pgtype.BytesScanner.
func (c *textColumn) ScanBytes(src []byte) error {
	c.from, c.isNull = len(c.row.gathered), src == nil
	c.row.gathered = append(c.row.gathered, src...)
	c.to = len(c.row.gathered)
	return nil
}

// take returns the string that the row's columns are parts of, and begins the next row.
func (t *texts) take() string {
	all := string(t.gathered)
	t.gathered = t.gathered[:0]
	return all
}

// text returns the column's part of what take has returned.
func (c *textColumn) text(all string) string { return all[c.from:c.to] }

// optional returns the column's part, made in a slab, or nil for null.
func (c *textColumn) optional(all string, made *slab[string]) *string {
	if c.isNull {
		return nil
	}
	text := made.row()
	*text = c.text(all)
	return text
}

// slab makes rows several at a time.
type slab[T any] struct{ free []T }

// rowsAtOnce is how many rows a slab makes at a time.
const rowsAtOnce = 16

func (s *slab[T]) row() *T {
	if len(s.free) == 0 {
		s.free = make([]T, rowsAtOnce)
	}
	row := &s.free[0]
	s.free = s.free[1:]
	return row
}

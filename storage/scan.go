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

// optionalText is a text or null. It spares what a pointer to a string costs through reflection.
type optionalText struct{ text *string }

// ScanBytes implements pgtype.BytesScanner.
func (o *optionalText) ScanBytes(src []byte) error {
	o.text = nil
	if src != nil {
		text := string(src)
		o.text = &text
	}
	return nil
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

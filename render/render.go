// Package render writes values as JSON by appending to one slice. graph/render_gen.go is made of it: see
// doc/decisions/0017-rendering.md.
//
// What it writes is, byte for byte, what gqlgen's own path writes. Where it can't, since there is an error to
// report, it says so and leaves the value to that path.
package render

import (
	"context"
	"io"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Append appends a value as JSON: of an object what s selects. It returns false where the value is left to
// the generated path; what was appended is then of no use.
type Append[T any] func(b []byte, s *Selection, v T) ([]byte, bool)

// Select prepares the selection on a type, once for all the objects of a value.
type Select func(c *Collector, set ast.SelectionSet) *Selection

// Field turns the value that a field resolved to into its JSON, or returns it as it is where that can't be
// done. prepare is nil for what has no selection.
func Field[T any](ctx context.Context, value any, prepare Select, write Append[T]) (result any, err error) {
	v, ok := value.(T)
	if !ok {
		return value, nil
	}
	// A method of the value may panic. It does so again in the generated path, which knows where.
	defer func() {
		if recover() != nil {
			result, err = value, nil
		}
	}()
	var s *Selection
	if prepare != nil {
		c := Collector{operation: graphql.GetOperationContext(ctx)}
		s = prepare(&c, graphql.GetFieldContext(ctx).Field.Selections)
		if c.isUnusual {
			return value, nil
		}
	}
	text, ok := write(make([]byte, 0, firstSize), s, v)
	if !ok {
		return value, nil
	}
	return JSON(text), nil
}

// JSON is a rendered value.
type JSON []byte

// MarshalGQL implements graphql.Marshaler.
func (j JSON) MarshalGQL(w io.Writer) { _, _ = w.Write(j) }

// Sizes of the slice that is appended to, in bytes.
const (
	// firstSize holds an object or two.
	firstSize = 512
	// maxGuess bounds what a list's first element has us set aside for the others.
	maxGuess = 64 << 10
)

// AppendList appends a list. After its first element it makes room for the others.
func AppendList[T any](b []byte, s *Selection, list []T, element Append[T]) ([]byte, bool) {
	b = append(b, '[')
	start := len(b)
	for i, v := range list {
		switch i {
		case 0:
		case 1:
			b = slices.Grow(b, min((len(b)-start)*len(list), maxGuess))
			fallthrough
		default:
			b = append(b, ',')
		}
		var ok bool
		if b, ok = element(b, s, v); !ok {
			return b, false
		}
	}
	return append(b, ']'), true
}

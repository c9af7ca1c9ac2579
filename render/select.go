package render

import (
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// Selection is what is selected on a type: fragments are in their place, fields selected twice are one, and
// what @skip and @include leave out is gone.
type Selection struct {
	// Fields are in the order of the answer.
	Fields []SelectedField
	// Types are, of an interface or a union, the selections on its types, in the order that the generated
	// code gives them. Fields is empty then.
	Types []*Selection
}

// SelectedField is a field of a Selection.
type SelectedField struct {
	Name string
	// Key is what stands before the value: a brace or a comma, and the alias.
	Key string
	// Index is the field's place in the type, from 1; 0 is __typename.
	Index int
	// Set and Selection are what is selected below the field.
	Set       ast.SelectionSet
	Selection *Selection
}

// Collector collects the selections of one value.
type Collector struct {
	operation *graphql.OperationContext
	isUnusual bool
}

// Collect returns the selection on an object of a type, given by its name and those of its interfaces. The
// fields have neither Index nor Selection yet.
func (c *Collector) Collect(set ast.SelectionSet, names []string) *Selection {
	if isPlain(set) {
		return newSelection(len(set), func(i int) (*ast.Field, ast.SelectionSet) {
			f := set[i].(*ast.Field)
			return f, f.SelectionSet
		})
	}
	collected := graphql.CollectFields(c.operation, set, names)
	for i, f := range collected {
		sameKey := func(other graphql.CollectedField) bool { return other.Alias == f.Alias }
		// gqlgen resolves both of two fields with one key and writes the first.
		if len(f.Deferrables) > 0 || slices.ContainsFunc(collected[:i], sameKey) {
			c.LeaveIt()
		}
	}
	return newSelection(len(collected), func(i int) (*ast.Field, ast.SelectionSet) {
		return collected[i].Field, collected[i].Selections
	})
}

// LeaveIt leaves the value to the generated path.
func (c *Collector) LeaveIt() { c.isUnusual = true }

// isPlain reports whether a selection set is a list of different fields and nothing else. Most are.
func isPlain(set ast.SelectionSet) bool {
	for i, selection := range set {
		f, ok := selection.(*ast.Field)
		if !ok || len(f.Directives) > 0 {
			return false
		}
		for _, earlier := range set[:i] {
			if earlier.(*ast.Field).Alias == f.Alias {
				return false
			}
		}
	}
	return true
}

// newSelection makes a Selection of n fields. Their keys are parts of one string.
func newSelection(n int, field func(int) (*ast.Field, ast.SelectionSet)) *Selection {
	s := &Selection{Fields: make([]SelectedField, n)}
	size := 0
	for i := range n {
		f, _ := field(i)
		size += len(f.Alias) + len(`,"":`)
	}
	var keys strings.Builder
	keys.Grow(size)
	opening := `{"`
	for i := range n {
		f, set := field(i)
		start := keys.Len()
		keys.WriteString(opening)
		keys.WriteString(f.Alias) // a GraphQL name: nothing to escape
		keys.WriteString(`":`)
		s.Fields[i] = SelectedField{Name: f.Name, Key: keys.String()[start:], Set: set}
		opening = `,"`
	}
	return s
}

package render_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// writer writes a random document: an operation with fragments in each other, directives with constants and
// variables, and fields that are selected twice.
type writer struct {
	r      *rand.Rand
	schema *ast.Schema
	// fragments are those that the document names, as text.
	fragments []string
	// left is how many selections may still be made.
	left int
}

// newDocument returns a valid document for an operation. A request for it has the variables yes and no.
func newDocument(r *rand.Rand, schema *ast.Schema, operation ast.Operation) string {
	w := &writer{r: r, schema: schema, left: 60}
	root := map[ast.Operation]*ast.Definition{
		ast.Query: schema.Query, ast.Mutation: schema.Mutation, ast.Subscription: schema.Subscription,
	}[operation]
	text := "{" + w.selections(root, 5, operation == ast.Subscription) + " }\n" + strings.Join(w.fragments, "\n")
	var declared []string
	for _, variable := range []string{"$yes: Boolean!", "$no: Boolean!", "$unset: Boolean = true"} {
		if name, _, _ := strings.Cut(variable, ":"); strings.Contains(text, name) {
			declared = append(declared, variable)
		}
	}
	if declared != nil {
		text = "(" + strings.Join(declared, ", ") + ") " + text
	}
	return string(operation) + " " + text
}

// selections writes what stands between the braces of a selection on a type; of one field where only one may.
func (w *writer) selections(of *ast.Definition, depth int, one bool) string {
	var s strings.Builder
	n := 1 + w.r.IntN(6)
	if one {
		n = 1
	}
	for range n {
		switch kind := w.r.IntN(12); {
		case one || kind < 8:
			s.WriteString(w.field(of, depth))
		case kind == 8:
			s.WriteString(" __typename" + w.directives())
		case kind == 9 && depth > 0:
			on := w.condition(of)
			w.fragments = append(w.fragments, "")
			i := len(w.fragments) - 1
			w.fragments[i] = fmt.Sprintf("fragment F%d on %s { %s }", i, on.Name, w.selections(on, depth-1, false))
			spread := fmt.Sprintf(" ...F%d%s", i, w.directives())
			s.WriteString(spread)
			if w.r.IntN(3) == 0 {
				s.WriteString(spread)
			}
		case depth > 0:
			on, condition := of, ""
			if w.r.IntN(3) > 0 {
				on = w.condition(of)
				condition = " on " + on.Name
			}
			s.WriteString(" ..." + condition + w.directives() + " { " + w.selections(on, depth-1, false) + " }")
		}
	}
	if s.Len() == 0 {
		return " __typename"
	}
	return s.String()
}

// condition returns a type that an object of the given type may be.
func (w *writer) condition(of *ast.Definition) *ast.Definition {
	fits := []*ast.Definition{of}
	if of.Kind == ast.Object {
		for _, name := range of.Interfaces {
			fits = append(fits, w.schema.Types[name])
		}
	} else {
		fits = append(fits, w.schema.GetPossibleTypes(of)...)
	}
	return fits[w.r.IntN(len(fits))]
}

// field writes a field, its own selections, and at times the field again.
func (w *writer) field(of *ast.Definition, depth int) string {
	var fits []*ast.FieldDefinition
	for _, f := range of.Fields {
		isLeaf := w.schema.Types[f.Type.Name()].IsLeafType()
		if !strings.HasPrefix(f.Name, "__") && (isLeaf || depth > 0 && w.left > 0) {
			fits = append(fits, f)
		}
	}
	w.left--
	if len(fits) == 0 {
		return " __typename"
	}
	f := fits[w.r.IntN(len(fits))]
	name := f.Name
	if w.r.IntN(3) == 0 {
		// An alias always stands for the same field, so that fields of one key may be merged.
		name = pick(w.r, "a", "zz_") + f.Name + ": " + f.Name
	}
	name = " " + name + w.arguments(f)
	text := ""
	for range 1 + w.r.IntN(5)/4 {
		text += name + w.directives()
		if typ := w.schema.Types[f.Type.Name()]; !typ.IsLeafType() {
			text += " {" + w.selections(typ, depth-1, false) + " }"
		}
	}
	return text
}

func (w *writer) directives() string {
	switch w.r.IntN(12) {
	case 0:
		return " @skip(if: " + pick(w.r, "true", "false", "$yes", "$no") + ")"
	case 1:
		return " @include(if: " + pick(w.r, "true", "false", "$yes", "$no", "$unset") + ")"
	case 2:
		return " @include(if: $yes) @skip(if: $no)"
	}
	return ""
}

// arguments writes those arguments that are required.
func (w *writer) arguments(f *ast.FieldDefinition) string {
	var given []string
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil {
			given = append(given, a.Name+": "+w.literal(a.Type))
		}
	}
	if given == nil {
		return ""
	}
	return "(" + strings.Join(given, ", ") + ")"
}

func (w *writer) literal(t *ast.Type) string {
	if t.Elem != nil {
		return "[" + w.literal(t.Elem) + "]"
	}
	d := w.schema.Types[t.NamedType]
	switch d.Kind {
	case ast.Enum:
		return d.EnumValues[0].Name
	case ast.InputObject:
		var fields []string
		for _, f := range d.Fields {
			if f.Type.NonNull && f.DefaultValue == nil {
				fields = append(fields, f.Name+": "+w.literal(f.Type))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	default:
	}
	switch d.Name {
	case "Boolean":
		return "true"
	case "Int", "Float":
		return "1"
	case "DateTime":
		return `"2026-11-30T00:00:00Z"`
	}
	return `"x"`
}

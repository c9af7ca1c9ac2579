package transport

import (
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"belfry/inbox"
)

// bill is what a selection set costs for each object it is selected on: fixed, and perRow for each row of
// the list that the enclosing field's arguments ask for. So a fragment on a connection has one bill,
// whatever the size of the pages that it is spread on.
type bill struct {
	fixed, perRow int
}

func (b bill) plus(c bill) bill {
	return bill{saturatingAdd(b.fixed, c.fixed), saturatingAdd(b.perRow, c.perRow)}
}

// costWalker adds up a validated operation. It enters each fragment once: its steps are bounded by the
// document, and maxTokens bounds that.
type costWalker struct {
	scale     scale
	variables map[string]any
	fragments map[string]bill
	// steps counts the selections that were looked at.
	steps int
	// connection and introspection are the first of these fields, nil where there are none.
	connection, introspection *ast.Field
}

func newCostWalker(s scale, variables map[string]any) *costWalker {
	return &costWalker{scale: s, variables: variables}
}

func (w *costWalker) operation(operation *ast.OperationDefinition) int {
	return w.set(operation.SelectionSet).fixed
}

func (w *costWalker) set(set ast.SelectionSet) bill {
	var total bill
	for _, selection := range set {
		w.steps++
		switch s := selection.(type) {
		case *ast.Field:
			total = total.plus(w.field(s))
		case *ast.InlineFragment:
			total = total.plus(w.set(s.SelectionSet))
		case *ast.FragmentSpread:
			total = total.plus(w.fragment(s.Definition))
		}
	}
	return total
}

func (w *costWalker) fragment(definition *ast.FragmentDefinition) bill {
	if b, ok := w.fragments[definition.Name]; ok {
		return b
	}
	if w.fragments == nil {
		w.fragments = map[string]bill{}
	}
	w.fragments[definition.Name] = bill{} // validation lets no cycle pass; if one did, it would end here
	b := w.set(definition.SelectionSet)
	w.fragments[definition.Name] = b
	return b
}

func (w *costWalker) field(f *ast.Field) bill {
	w.note(f)
	at := coordinate{f.ObjectDefinition.Name, f.Name}
	own := w.scale.surcharges[at]
	if f.Alias != f.Name {
		own++
	}
	if len(f.SelectionSet) == 0 {
		return bill{fixed: own}
	}
	rows := w.rows(at, f)
	if at.typ == "Mutation" {
		own = saturatingAdd(own, saturatingAdd(mutationCost, rows))
	}
	inner := w.set(f.SelectionSet)
	each := saturatingAdd(saturatingAdd(inner.fixed, saturatingMul(rows, inner.perRow)), w.scale.object(f))
	size := w.scale.size(at, f)
	switch size {
	case enclosing:
		return bill{own, each}
	case counted:
		size = rows
	}
	return bill{fixed: saturatingAdd(own, saturatingMul(size, each))}
}

func (w *costWalker) note(f *ast.Field) {
	if w.connection == nil && isConnection(f.Definition.Type.Name()) {
		w.connection = f
	}
	if w.introspection == nil && isIntrospection(f) {
		w.introspection = f
	}
}

// rows returns how many rows a field's arguments ask for; 1 where it has no such arguments.
func (w *costWalker) rows(at coordinate, f *ast.Field) int {
	if isConnection(f.Definition.Type.Name()) {
		return w.page(f)
	}
	path, ok := w.scale.inputs[at]
	if !ok {
		return 1
	}
	name, rest, nested := strings.Cut(path, ".")
	value, ok := w.argument(f, name)
	if nested {
		input, _ := value.(map[string]any)
		value, ok = input[rest], ok && input != nil
	}
	if !ok || value == nil {
		return 0
	}
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
		return list.Len()
	}
	return 1 // a list of one may be written without brackets
}

// page returns the size of the page that a connection's arguments ask for. What the resolver will refuse
// counts as the largest: the resolver's error is the better one.
func (w *costWalker) page(f *ast.Field) int {
	size := -1
	for _, name := range []string{"first", "last"} {
		if value, ok := w.argument(f, name); ok && value != nil {
			size = max(size, pageSize(value))
		}
	}
	if size < 0 {
		return inbox.DefaultPage
	}
	return size
}

func pageSize(value any) int {
	var n int64
	var err error
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		n = v.Int()
	case reflect.Float64:
		n = int64(min(max(v.Float(), -1), inbox.MaxPage))
	case reflect.String: // json.Number, and a string that holds a number
		n, err = strconv.ParseInt(v.String(), 10, 64)
	default:
		return inbox.MaxPage
	}
	if err != nil || n < 0 || n > inbox.MaxPage {
		return inbox.MaxPage
	}
	return int(n)
}

// argument returns an argument's value and whether there is one.
func (w *costWalker) argument(f *ast.Field, name string) (any, bool) {
	argument := f.Arguments.ForName(name)
	if argument == nil {
		return nil, false
	}
	value, err := argument.Value.Value(w.variables)
	if err != nil {
		return argument.Value.Raw, true // an Int of too many digits
	}
	return value, true
}

// maxSum is where sums stop growing: what a GraphQL Int can hold.
const maxSum = math.MaxInt32

func saturatingAdd(a, b int) int { return min(a+b, maxSum) }

func saturatingMul(a, b int) int { return min(a*b, maxSum) }

package render_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"belfry/graph"
	"belfry/inbox"
	"belfry/render"
)

// Every value that is plain by the schema is rendered at once: the generator has passed over none, and
// nothing falls back to the generated path without need.
func TestEveryPlainValueIsRendered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // fields and elements have goroutines of their own
	missing := plainFields()
	around := func(ctx context.Context, next graphql.Resolver) (any, error) {
		value, err := graph.Render(ctx, next)
		fc := graphql.GetFieldContext(ctx)
		at := fc.Object + "." + fc.Field.Name
		if isPlain(schema().Types[fc.Object]) && !isBelowMixed(fc) {
			t.Errorf("%s was resolved by itself", at)
		}
		mu.Lock()
		defer mu.Unlock()
		if i := slices.Index(missing, at); i >= 0 && value != nil {
			if _, ok := value.(render.JSON); ok {
				missing = slices.Delete(missing, i, i+1)
			} else {
				t.Errorf("%s was not rendered", at)
			}
		}
		return value, err
	}

	for seed := uint64(0); len(missing) > 0 && seed < 5000; seed++ {
		if _, errs := answers(t.Context(), newExecutor(data{seed: seed, most: 2}, around), randomDocument(seed)); errs != nil {
			t.Fatal(errs)
		}
	}
	if len(missing) > 0 {
		t.Errorf("never selected: %v", missing)
	}
}

// plainFields returns the fields of objects with resolvers whose values are plain lists or objects.
func plainFields() []string {
	var fields []string
	for _, object := range schema().Types {
		if object.Kind != ast.Object || strings.HasPrefix(object.Name, "__") || isPlain(object) || object == schema().Subscription {
			continue
		}
		for _, f := range object.Fields {
			of := schema().Types[f.Type.Name()]
			isLeafList := of.IsLeafType() && f.Type.Elem != nil
			if !strings.HasPrefix(f.Name, "__") && (isLeafList || !of.IsLeafType() && isPlain(of)) {
				fields = append(fields, object.Name+"."+f.Name)
			}
		}
	}
	return fields
}

// isPlain reports whether nothing has a resolver in an object of a type.
func isPlain(of *ast.Definition) bool { return plainTypes()[of.Name] }

var plainTypes = sync.OnceValue(func() map[string]bool {
	plain := map[string]bool{}
	for _, of := range schema().Types {
		plain[of.Name] = hasNoResolver(of)
	}
	return plain
})

func hasNoResolver(of *ast.Definition) bool {
	seen := map[*ast.Definition]bool{}
	var walk func(*ast.Definition) bool
	walk = func(of *ast.Definition) bool {
		if seen[of] || of.IsLeafType() {
			return true
		}
		seen[of] = true
		if of.IsAbstractType() {
			return !slices.ContainsFunc(schema().GetPossibleTypes(of), func(d *ast.Definition) bool { return !walk(d) })
		}
		for _, f := range of.Fields {
			if resolverResult(of.Name, f.Name) != nil || !walk(schema().Types[f.Type.Name()]) {
				return false
			}
		}
		return true
	}
	return walk(of)
}

// isBelowMixed reports whether a field stands in an object that may as well have had resolvers.
func isBelowMixed(fc *graphql.FieldContext) bool {
	for fc = fc.Parent; fc != nil; fc = fc.Parent {
		if fc.Field.Field == nil {
			continue
		}
		of := schema().Types[fc.Field.Definition.Type.Name()]
		if of.IsAbstractType() && slices.ContainsFunc(schema().GetPossibleTypes(of), isPlain) {
			return true
		}
	}
	return false
}

// A list of nodes is rendered at once where all of them are plain.
func TestPlainNodesAreRendered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		nodes []inbox.Node
		want  bool
	}{
		{"none", []inbox.Node{}, true},
		{"plain", []inbox.Node{&inbox.Device{}, nil, &inbox.Notification{}}, true},
		{"mixed", []inbox.Node{&inbox.Device{}, &inbox.User{}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			isRendered := false
			exec := newExecutor(data{}, func(ctx context.Context, next graphql.Resolver) (any, error) {
				if fc := graphql.GetFieldContext(ctx); fc.Field.Name != "nodes" {
					return graph.Render(ctx, next)
				}
				value, err := graph.Render(ctx, func(context.Context) (any, error) { return tt.nodes, nil })
				_, isRendered = value.(render.JSON)
				return value, err
			})
			if _, errs := answers(t.Context(), exec, `{ nodes(ids: []) { id } }`); errs != nil {
				t.Fatal(errs)
			}
			if isRendered != tt.want {
				t.Errorf("rendered: got %v, want %v", isRendered, tt.want)
			}
		})
	}
}

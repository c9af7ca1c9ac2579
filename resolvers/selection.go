package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// selects reports whether the client has selected a path below the current field. It does not look at
// @skip and @include, so it may say yes once too often, which costs a look-up and no wrong answer.
func selects(ctx context.Context, path ...string) bool {
	return leadsTo(graphql.GetFieldContext(ctx).Field.Selections, path, nil)
}

// siblingSelected reports whether the client has selected another field of the object that the current
// field belongs to, or a path that begins with one.
func siblingSelected(ctx context.Context, path ...string) bool {
	parent := graphql.GetFieldContext(ctx).Parent
	for parent != nil && parent.Index != nil {
		parent = parent.Parent
	}
	return parent != nil && leadsTo(parent.Field.Selections, path, nil)
}

// leadsTo reports whether a selection set holds a path of field names, through fragments. The path comes in two
// parts.
func leadsTo(set ast.SelectionSet, path, more []string) bool {
	if len(path) == 0 {
		if len(more) == 0 {
			return true
		}
		path, more = more, nil
	}
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if s.Name == path[0] && leadsTo(s.SelectionSet, path[1:], more) {
				return true
			}
		case *ast.InlineFragment:
			if leadsTo(s.SelectionSet, path, more) {
				return true
			}
		case *ast.FragmentSpread:
			if s.Definition != nil && leadsTo(s.Definition.SelectionSet, path, more) {
				return true
			}
		}
	}
	return false
}

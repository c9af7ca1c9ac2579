package transport

import "github.com/vektah/gqlparser/v2/ast"

// reachOf counts for each fragment from how many operations and other fragments a walk gets there.
func reachOf(doc *ast.QueryDocument) map[string]int {
	direct := make(map[string][]string, len(doc.Fragments))
	for _, fragment := range doc.Fragments {
		direct[fragment.Name] = spreadsIn(fragment.SelectionSet, nil)
	}
	reach := make(map[string]int, len(doc.Fragments))
	count := func(from []string) {
		seen := map[string]bool{}
		for pending := from; len(pending) > 0; {
			name := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			if !seen[name] {
				seen[name] = true
				reach[name]++
				pending = append(pending, direct[name]...)
			}
		}
	}
	for _, operation := range doc.Operations {
		count(spreadsIn(operation.SelectionSet, nil))
	}
	for _, fragment := range doc.Fragments {
		count(append([]string(nil), direct[fragment.Name]...))
	}
	return reach
}

// spreadsIn adds to names those of the fragments that a selection set spreads.
func spreadsIn(set ast.SelectionSet, names []string) []string {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			names = spreadsIn(s.SelectionSet, names)
		case *ast.InlineFragment:
			names = spreadsIn(s.SelectionSet, names)
		case *ast.FragmentSpread:
			names = append(names, s.Name)
		}
	}
	return names
}

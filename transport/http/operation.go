package http

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// What the engine says about a document quotes it: a name of 100 kB would come back as 100 kB, and each of
// a thousand unknown fields as an error.
const (
	maxMessage = 400 // bytes
	maxErrors  = 100
)

// Read reads and validates the operation that a request asks for. The error is a *Refusal, or a
// gqlerror.List about the document or its variables.
func Read(r *http.Request, exec graphql.GraphExecutor) (*graphql.OperationContext, error) {
	params, err := readParams(r)
	if err != nil {
		return nil, err
	}
	op, errs := Prepare(r.Context(), exec, params)
	if len(errs) > 0 {
		return nil, errs
	}
	if r.Method == http.MethodGet && op.Operation.Operation == ast.Mutation {
		return nil, refuseMethod(http.MethodPost, "a GET changes nothing: send mutations by POST")
	}
	return op, nil
}

// Prepare is exec.CreateOperationContext with errors that are clear and short, and without @defer.
func Prepare(
	ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams,
) (*graphql.OperationContext, gqlerror.List) {
	op, errs := exec.CreateOperationContext(ctx, params)
	switch {
	case len(errs) > 0 && op.Doc != nil && op.Operation == nil:
		return op, invalid(notFound(params.OperationName))
	case len(errs) == 0 && hasDefer(op):
		return op, invalid("@defer is not supported")
	}
	errs = errs[:min(len(errs), maxErrors)]
	for _, e := range errs {
		e.Message = shorten(e.Message)
	}
	return op, errs
}

func notFound(operationName string) string {
	if operationName == "" {
		return "the document has several operations: say which by operationName"
	}
	return "the document has no operation of the name in operationName"
}

func invalid(message string) gqlerror.List {
	err := &gqlerror.Error{Message: message}
	errcode.Set(err, errcode.ValidationFailed)
	return gqlerror.List{err}
}

// shorten cuts a message where it is too long, not within a character.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// hasDefer reports whether a document defers a part of its answer. gqlgen knows the directive and would
// leave that part out, for an answer after the first one: there is none, and the part would be missing.
func hasDefer(op *graphql.OperationContext) bool {
	if !strings.Contains(op.RawQuery, "defer") {
		return false
	}
	inOperation := func(o *ast.OperationDefinition) bool { return defers(o.SelectionSet) }
	inFragment := func(f *ast.FragmentDefinition) bool { return defers(f.SelectionSet) }
	return slices.ContainsFunc(op.Doc.Operations, inOperation) || slices.ContainsFunc(op.Doc.Fragments, inFragment)
}

// defers looks through a selection set, but not into the fragments it names: each is looked through once.
func defers(set ast.SelectionSet) bool {
	return slices.ContainsFunc(set, func(s ast.Selection) bool {
		switch s := s.(type) {
		case *ast.Field:
			return defers(s.SelectionSet)
		case *ast.InlineFragment:
			return s.Directives.ForName("defer") != nil || defers(s.SelectionSet)
		case *ast.FragmentSpread:
			return s.Directives.ForName("defer") != nil
		}
		return false
	})
}

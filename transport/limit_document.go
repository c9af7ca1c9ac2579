package transport

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"belfry/inbox"
)

// Limits of a document. An operation is measured with its fragments in place: what a fragment holds
// counts as often as it is spread. See doc/decisions/0007-cost.md.
const (
	// maxDocument is in bytes. A producer's body may be larger, but what is large belongs into variables.
	maxDocument = 128 << 10
	// maxDefinitions bounds operations and fragments together.
	maxDefinitions = 50
	maxRootFields  = 20
	maxAliases     = 50
	maxDirectives  = 100
	// maxDepth is how deep fields may nest. Introspection nests deeper: a list of non-null elements of
	// a list is three types in each other, and GraphiQL asks for nine.
	maxDepth              = 12
	maxIntrospectionDepth = 20
)

// documentLimit refuses documents that are out of all proportion, before the engine validates them. It
// looks only at what has no place in the cache, since nothing is cached that it refused.
type documentLimit struct {
	schema *ast.Schema
	cache  graphql.Cache[*ast.QueryDocument]
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
} = documentLimit{}

// ExtensionName names the extension to the engine.
func (documentLimit) ExtensionName() string { return "DocumentLimit" }

// Validate has nothing to check.
func (documentLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters changes nothing: it is the engine's one hook ahead of validation.
func (l documentLimit) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if len(params.Query) > maxDocument {
		return refusal(tooMany("bytes", len(params.Query), maxDocument))
	}
	if _, ok := l.cache.Get(ctx, params.Query); ok {
		return nil
	}
	// Parsing twice costs less than a millisecond, and once for each document that is accepted.
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, maxTokens)
	if err != nil {
		return nil //nolint:nilerr // the engine parses again, and answers with its own code
	}
	if _, err := measureDocument(l.schema, doc); err != nil {
		return refusal(err)
	}
	return nil
}

// measureDocument returns the steps that validation may take, or a TooComplex error.
func measureDocument(schema *ast.Schema, doc *ast.QueryDocument) (int, *inbox.Error) {
	if n := len(doc.Operations) + len(doc.Fragments); n > maxDefinitions {
		return 0, tooMany("operations and fragments", n, maxDefinitions)
	}
	m := measurer{fragments: doc.Fragments, memo: map[string]measure{}}
	for _, operation := range doc.Operations {
		if err := m.operation(operation).check(); err != nil {
			return 0, err
		}
	}
	return validationSteps(schema, doc)
}

// measure is what an operation, or a part of one, amounts to.
type measure struct {
	fields, aliases, directives int
	// depth is how many fields nest, introspection how many do below __schema and __type.
	depth, introspection int
}

func (m measure) check() *inbox.Error {
	for _, limit := range []struct {
		what     string
		got, max int
	}{
		{"root fields", m.fields, maxRootFields},
		{"aliases", m.aliases, maxAliases},
		{"directives", m.directives, maxDirectives},
		{"levels of fields", m.depth, maxDepth},
		{"levels of introspection", m.introspection, maxIntrospectionDepth},
	} {
		if limit.got > limit.max {
			return tooMany(limit.what, limit.got, limit.max)
		}
	}
	return nil
}

// measurer measures each fragment once, however often it is spread.
type measurer struct {
	fragments ast.FragmentDefinitionList
	memo      map[string]measure
}

func (m measurer) operation(operation *ast.OperationDefinition) measure {
	total := m.set(operation.SelectionSet)
	total.directives += len(operation.Directives)
	for _, variable := range operation.VariableDefinitions {
		total.directives += len(variable.Directives)
	}
	return total
}

func (m measurer) set(set ast.SelectionSet) measure {
	var total measure
	for _, selection := range set {
		var part measure
		switch s := selection.(type) {
		case *ast.Field:
			part = m.field(s)
		case *ast.InlineFragment:
			part = m.set(s.SelectionSet)
			part.directives += len(s.Directives)
		case *ast.FragmentSpread:
			part = m.fragment(s.Name)
			part.directives += len(s.Directives)
		}
		total.fields = saturatingAdd(total.fields, part.fields)
		total.aliases = saturatingAdd(total.aliases, part.aliases)
		total.directives = saturatingAdd(total.directives, part.directives)
		total.depth = max(total.depth, part.depth)
		total.introspection = max(total.introspection, part.introspection)
	}
	return total
}

func (m measurer) field(field *ast.Field) measure {
	part := m.set(field.SelectionSet)
	part.fields, part.directives = 1, saturatingAdd(part.directives, len(field.Directives))
	if field.Alias != field.Name {
		part.aliases++
	}
	if isIntrospection(field) {
		part.introspection, part.depth = max(part.introspection, part.depth), 0
	}
	part.depth++
	return part
}

// fragment takes a fragment within itself, and one that does not exist, for empty: validation refuses both.
func (m measurer) fragment(name string) measure {
	if part, ok := m.memo[name]; ok {
		return part
	}
	definition := m.fragments.ForName(name)
	if definition == nil {
		return measure{}
	}
	m.memo[name] = measure{}
	part := m.set(definition.SelectionSet)
	part.directives = saturatingAdd(part.directives, len(definition.Directives))
	m.memo[name] = part
	return part
}

func isIntrospection(field *ast.Field) bool {
	return field.Name == "__schema" || field.Name == "__type"
}

func tooMany(what string, got, limit int) *inbox.Error {
	return inbox.Errorf(inbox.TooComplex, "the document has %d %s, more than %d", got, what, limit)
}

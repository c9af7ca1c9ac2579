package transport

import (
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// What tests see of the limits.
const (
	MaxTokens          = maxTokens
	MaxValidationSteps = maxValidationSteps
	MaxCost            = maxCost
)

// ValidationSteps returns the estimate for a document, however large.
func ValidationSteps(schema *ast.Schema, doc *ast.QueryDocument) int {
	steps, _ := validationSteps(schema, doc)
	return steps
}

// CostOf returns what a validated operation costs, and the steps it took to tell.
func CostOf(oc *graphql.OperationContext) (cost, steps int) {
	w := newCostWalker(newScale(), oc.Variables)
	return w.operation(oc.Operation), w.steps
}

// Unsized returns the lists of objects in a schema, as Type.field, of which the scale knows no size.
func Unsized(schema *ast.Schema) []string {
	s := newScale()
	var names []string
	for _, definition := range schema.Types {
		for _, field := range definition.Fields {
			if definition.Kind == ast.InputObject || schema.Types[field.Type.Name()].IsLeafType() {
				continue
			}
			at := coordinate{definition.Name, field.Name}
			if s.size(at, &ast.Field{Name: field.Name, Definition: field}) == unknownList && s.lists[at] != unknownList {
				names = append(names, at.typ+"."+at.field)
			}
		}
	}
	return names
}

// Unknown returns what the scale names and the schema has not.
func Unknown(schema *ast.Schema) []string {
	s := newScale()
	var names []string
	check := func(at coordinate) {
		if strings.HasPrefix(at.field, "__") {
			return // every schema's, and in none
		}
		if definition := schema.Types[at.typ]; definition == nil || definition.Fields.ForName(at.field) == nil {
			names = append(names, at.typ+"."+at.field)
		}
	}
	for at := range s.lists {
		check(at)
	}
	for at := range s.inputs {
		check(at)
	}
	for at := range s.surcharges {
		check(at)
	}
	return names
}

// LimitDocument is the extension as New registers it.
func LimitDocument(schema *ast.Schema, cache graphql.Cache[*ast.QueryDocument]) graphql.HandlerExtension {
	return documentLimit{schema, cache}
}

// Measure returns why a document is refused before validation, nil where it is not.
func Measure(schema *ast.Schema, doc *ast.QueryDocument) error {
	if _, err := measureDocument(schema, doc); err != nil {
		return err
	}
	return nil
}

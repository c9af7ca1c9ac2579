package transport_test

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"belfry/graph"
	"belfry/transport"
)

// No document makes the limits panic, or the walk of the cost take more steps than the document has tokens.
func FuzzCost(f *testing.F) {
	for _, d := range hostileDocuments() {
		if len(d.document) < 4<<10 {
			f.Add(d.document, 20)
		}
	}
	f.Add(usersQuery, 3)
	f.Add(dispatchMutation, 3)
	f.Add(`query ($n: Int) { viewer { notifications(first: $n) { ...P } } } fragment P on NotificationConnection { nodes { id } }`, 7)
	schema := graph.NewExecutableSchema(graph.Config{})
	limited := executor.New(schema)
	limited.SetParserTokenLimit(transport.MaxTokens)
	limited.Use(transport.LimitDocument(schema.Schema(), graphql.NoCache[*ast.QueryDocument]{}))
	f.Fuzz(func(t *testing.T, query string, n int) {
		params := &graphql.RawParams{Query: query, Variables: map[string]any{
			"n": n, "ids": []any{"x", "y"}, "input": map[string]any{"ids": []any{"x"}}, "v0": nil,
		}}
		oc, errs := limited.CreateOperationContext(graphql.StartOperationTrace(t.Context()), params)
		if len(errs) > 0 {
			return
		}
		cost, steps := transport.CostOf(oc)
		if cost < 0 || cost > 1<<31-1 || steps > transport.MaxTokens {
			t.Errorf("cost %d in %d steps: %q", cost, steps, query)
		}
		doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, transport.MaxTokens)
		if err != nil {
			t.Fatal(err)
		}
		if steps := transport.ValidationSteps(schema.Schema(), doc); steps > transport.MaxValidationSteps {
			t.Errorf("validated in spite of %d steps: %q", steps, query)
		}
	})
}

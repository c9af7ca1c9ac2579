package render_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/graph"
)

// documents are shared, since to validate one takes longer than to answer it.
var documents = lru.New[*ast.QueryDocument](100)

// newExecutor returns an engine over random data whose fields are wrapped by around: by graph.Render, or by
// nothing.
func newExecutor(d data, around graphql.FieldMiddleware) *executor.Executor {
	exec := executor.New(graph.NewExecutableSchema(graph.Config{}))
	exec.SetQueryCache(documents)
	exec.SetRecoverFunc(func(context.Context, any) error { return errors.New("panic") })
	if around != nil {
		exec.AroundFields(around)
	}
	exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		if !fc.IsResolver {
			return next(ctx)
		}
		return d.resolve(fc), nil
	})
	return exec
}

// answers runs a document and returns its responses, or the errors that it is invalid for.
func answers(ctx context.Context, exec *executor.Executor, document string) ([]answer, gqlerror.List) {
	ctx = graphql.StartOperationTrace(ctx)
	oc, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: document, Variables: map[string]any{"yes": true, "no": false},
	})
	if errs != nil {
		return nil, errs
	}
	responses, ctx := exec.DispatchOperation(ctx, oc)
	var all []answer
	for r := responses(ctx); r != nil; r = responses(ctx) {
		all = append(all, newAnswer(r))
		if oc.Operation.Operation != ast.Subscription {
			break
		}
	}
	return all, nil
}

// answer is a response. Which error comes first depends on goroutines, so they are sorted.
type answer struct {
	Data   string
	Errors []string
}

func newAnswer(r *graphql.Response) answer {
	a := answer{Data: string(r.Data)}
	for _, e := range r.Errors {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		a.Errors = append(a.Errors, string(text))
	}
	slices.Sort(a.Errors)
	return a
}

// randomDocument returns a document for an operation of any kind.
func randomDocument(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	operation := pick(r, ast.Query, ast.Query, ast.Query, ast.Mutation, ast.Subscription)
	return newDocument(r, schema(), operation)
}

func schema() *ast.Schema { return graph.NewExecutableSchema(graph.Config{}).Schema() }

// compare runs a random document over random data along both paths.
func compare(t *testing.T, documentSeed, dataSeed uint64) {
	t.Helper()
	document := randomDocument(documentSeed)
	d := data{seed: dataSeed, nulls: []int{0, 0, 1, 10}[dataSeed%4], most: 4}
	want, errs := answers(t.Context(), newExecutor(d, nil), document)
	if errs != nil {
		t.Fatalf("seed %d: %v:\n%s", documentSeed, errs, document)
	}
	got, _ := answers(t.Context(), newExecutor(d, graph.Render), document)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seeds %d, %d: generated and rendered differ:\n%s\n%s", documentSeed, dataSeed, diff, document)
	}
}

// The rendered answer is, byte for byte, the one that gqlgen's own path makes, errors included.
func FuzzRender(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, documentSeed, dataSeed uint64) { compare(t, documentSeed, dataSeed) })
}

func TestRenderedIsGenerated(t *testing.T) {
	t.Parallel()
	const parts, documents = 10, 200
	for part := range uint64(parts) {
		t.Run(strconv.FormatUint(part, 10), func(t *testing.T) {
			t.Parallel()
			for i := range uint64(documents) {
				compare(t, part*documents+i, part*documents+i)
			}
		})
	}
}

package render_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"belfry/graph"
	"belfry/inbox"
)

// list is a connection of the viewer's and a document that asks for it.
type list struct {
	field    string
	document string
	page     func(edges int) any
}

var lists = []list{
	{"notifications", `{ viewer { userId unreadCount notifications(first: 100) { ` +
		`edges { cursor node { id kind category title body url createdAt readAt } } pageInfo { hasNextPage endCursor } } } }`, feed},
	{"activities", `{ viewer { activities { edges { cursor node { id verb object url data createdAt } } nodes { id } } } }`, activities},
	{"items", `{ viewer { items { edges { cursor node { __typename id itemId title tags createdAt } } } } }`, items},
}

var (
	text = "Three files were changed, two comments are open."
	link = "https://example.com/pulls/7#comment-4"
	at   = time.Unix(1_790_000_000, 517_975_000)
)

func feed(edges int) any {
	c := &graph.NotificationConnection{PageInfo: &graph.PageInfo{HasNextPage: true, EndCursor: &link}}
	for i := range edges {
		n := &inbox.Notification{
			UserID: "ada", CreatedAt: at, ID: inbox.UUID{1, 2, byte(i)}, Kind: "pull_request.review_requested",
			Category: "reviews", Title: text, Body: &text, URL: &link, ReadAt: &at,
		}
		c.Edges = append(c.Edges, &inbox.NotificationEdge{Edge: inbox.Edge[*inbox.Notification]{Node: n}})
	}
	return c
}

func activities(edges int) any {
	c := &graph.ActivityConnection{}
	for i := range edges {
		a := &inbox.Activity{
			UserID: "ada", CreatedAt: at, ID: inbox.UUID{byte(i)}, Verb: "starred", Object: &text, URL: &link,
			Data: json.RawMessage(`{"stars":7}`),
		}
		c.Nodes = append(c.Nodes, a)
		c.Edges = append(c.Edges, &inbox.ActivityEdge{Edge: inbox.Edge[*inbox.Activity]{Node: a}})
	}
	return c
}

func items(edges int) any {
	c := &graph.ItemConnection{}
	for i := range edges {
		item := &inbox.Item{
			UserID: "ada", CreatedAt: at, ID: inbox.UUID{byte(i)}, ItemID: "i-1", Title: text, Tags: []string{"a", "b"},
		}
		c.Edges = append(c.Edges, &inbox.ItemEdge{Edge: inbox.Edge[*inbox.Item]{Node: item}})
	}
	return c
}

// newViewer returns an engine whose viewer has such a page.
func newViewer(l list, edges int, around graphql.FieldMiddleware) *executor.Executor {
	exec := executor.New(graph.NewExecutableSchema(graph.Config{}))
	exec.SetQueryCache(lru.New[*ast.QueryDocument](1))
	if around != nil {
		exec.AroundFields(around)
	}
	answers := map[string]any{"viewer": &inbox.User{ID: "ada"}, "unreadCount": int32(7), l.field: l.page(edges)}
	exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		if fc := graphql.GetFieldContext(ctx); fc.IsResolver {
			return answers[fc.Field.Name], nil
		}
		return next(ctx)
	})
	return exec
}

// execute executes a document and returns the length of the answer.
func execute(ctx context.Context, exec *executor.Executor, document string) int {
	ctx = graphql.StartOperationTrace(ctx)
	oc, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: document})
	if errs != nil {
		panic(errs)
	}
	responses, ctx := exec.DispatchOperation(ctx, oc)
	return len(responses(ctx).Data)
}

// What a page costs in allocations does not depend on how many edges it has, but for the growing of slices.
// Not parallel, since the allocations of the whole process are counted.
func TestAllocationsOfAPage(t *testing.T) {
	const most, growth = 170, 8
	for _, l := range lists {
		allocations := func(edges int) float64 {
			exec := newViewer(l, edges, graph.Render)
			return testing.AllocsPerRun(100, func() { execute(t.Context(), exec, l.document) })
		}
		ten, hundred := allocations(10), allocations(100)
		t.Logf("%s: %v for 10 edges, %v for 100", l.field, ten, hundred)
		if hundred > most {
			t.Errorf("%s: 100 edges take %v allocations, want at most %d", l.field, hundred, most)
		}
		if hundred-ten > growth {
			t.Errorf("%s: 100 edges take %v allocations more than 10, want at most %d", l.field, hundred-ten, growth)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for _, bb := range []struct {
		name   string
		edges  int
		around graphql.FieldMiddleware
	}{
		{"rendered/20", 20, graph.Render},
		{"rendered/100", 100, graph.Render},
		{"generated/20", 20, nil},
		{"generated/100", 100, nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			exec := newViewer(lists[0], bb.edges, bb.around)
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(execute(b.Context(), exec, lists[0].document)))
			}
		})
	}
}

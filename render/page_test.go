package render_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"

	"belfry/graph"
	"belfry/inbox"
)

// feedPage is what an inbox asks for.
const feedPage = `query Feed { viewer { userId unreadCount notifications(first: 100) {
	edges { cursor node { id kind category title body url createdAt readAt } } pageInfo { hasNextPage endCursor } } } }`

// page is a feed with so many edges, all of it in memory.
func page(edges int) *graph.NotificationConnection {
	text, link := "Three files were changed, two comments are open.", "https://example.com/pulls/7#comment-4"
	end := "MjAyNi0xMS0zMA"
	c := &graph.NotificationConnection{PageInfo: &graph.PageInfo{HasNextPage: true, EndCursor: &end}}
	for i := range edges {
		n := &inbox.Notification{
			UserID: "ada", CreatedAt: time.Unix(1_790_000_000-int64(i), 517_975_000), ID: inbox.UUID{1, 2, byte(i)},
			Kind: "pull_request.review_requested", Category: "reviews", Title: fmt.Sprintf("Grace asked for a review of #%d", i),
			Body: &text, URL: &link,
		}
		c.Nodes = append(c.Nodes, n)
		c.Edges = append(c.Edges, &inbox.NotificationEdge{Edge: inbox.Edge[*inbox.Notification]{Node: n}})
	}
	return c
}

// newFeed returns an engine whose viewer has a page.
func newFeed(edges int, around graphql.FieldMiddleware) *executor.Executor {
	exec := executor.New(graph.NewExecutableSchema(graph.Config{}))
	exec.SetQueryCache(lru.New[*ast.QueryDocument](1))
	if around != nil {
		exec.AroundFields(around)
	}
	ada, feed := any(&inbox.User{ID: "ada"}), any(page(edges))
	exec.AroundFields(func(ctx context.Context, next graphql.Resolver) (any, error) {
		switch fc := graphql.GetFieldContext(ctx); fc.Field.Name {
		case "viewer":
			return ada, nil
		case "notifications":
			return feed, nil
		case "unreadCount":
			return int32(7), nil
		}
		return next(ctx)
	})
	return exec
}

// execute executes the page's document and returns the length of the answer.
func execute(ctx context.Context, exec *executor.Executor) int {
	ctx = graphql.StartOperationTrace(ctx)
	oc, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{Query: feedPage})
	if errs != nil {
		panic(errs)
	}
	responses, ctx := exec.DispatchOperation(ctx, oc)
	return len(responses(ctx).Data)
}

// What a page costs in allocations does not depend on how many edges it has, but for the growing of slices.
// Not parallel, since the allocations of the whole process are counted.
func TestAllocationsOfAPage(t *testing.T) {
	const most, growth = 150, 6
	allocations := func(edges int) float64 {
		exec := newFeed(edges, graph.Render)
		return testing.AllocsPerRun(100, func() { execute(t.Context(), exec) })
	}
	ten, hundred := allocations(10), allocations(100)
	t.Logf("10 edges: %v, 100 edges: %v", ten, hundred)
	if hundred > most {
		t.Errorf("100 edges: got %v allocations, want at most %d", hundred, most)
	}
	if hundred-ten > growth {
		t.Errorf("100 edges take %v allocations more than 10, want at most %d", hundred-ten, growth)
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
			exec := newFeed(bb.edges, bb.around)
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(execute(b.Context(), exec)))
			}
		})
	}
}

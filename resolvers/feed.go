package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"belfry/graph"
	"belfry/inbox"
	"belfry/storage"
)

// readFeed is a page of a feed. Within one list an alias stands for one set of arguments, since fields
// that share a response name must agree.
type readFeed struct{ alias string }

// Notifications resolves User.notifications.
func (r userResolver) Notifications(
	ctx context.Context, user *inbox.User, first *int32, after *string, last *int32, before *string,
	filter *graph.NotificationFilter,
) (*graph.NotificationConnection, error) {
	if err := mayRead(ctx, user.ID); err != nil {
		return nil, err
	}
	page, err := inbox.NewPage(first, after, last, before)
	if err != nil {
		return nil, err
	}
	far := "hasPreviousPage"
	if page.Backward {
		far = "hasNextPage"
	}
	page.Both = selects(ctx, "pageInfo", far)
	list, err := newFilter(filter)
	if err != nil {
		return nil, err
	}
	wanted := extrasOf(ctx, "edges", "node").or(extrasOf(ctx, "nodes"))
	read := readFeed{graphql.GetFieldContext(ctx).Field.Alias}
	found, err := load(ctx, user.ID, read, func(ctx context.Context, users []string) (map[string]storage.Page[inbox.Notification], error) {
		pages, err := r.store.FeedPages(ctx, users, page, list)
		if err != nil {
			return nil, err
		}
		var all []*inbox.Notification
		for _, p := range pages {
			all = append(all, p.Rows...)
		}
		return pages, wanted.fill(ctx, r.store, all)
	})
	if err != nil {
		return nil, err
	}
	return newConnection(found), nil
}

// newFilter turns the argument into a filter. Without one, a list leaves archived notifications out.
func newFilter(in *graph.NotificationFilter) (inbox.Filter, error) {
	if in == nil {
		archived := false
		return inbox.Filter{Archived: &archived}, nil
	}
	return inbox.NewFilter(in.Status, in.Categories, in.Archived)
}

func newConnection(page storage.Page[inbox.Notification]) *graph.NotificationConnection {
	c := &graph.NotificationConnection{
		Edges:    make([]*inbox.NotificationEdge, len(page.Rows)),
		Nodes:    page.Rows,
		PageInfo: &graph.PageInfo{HasNextPage: page.Reach.HasNext, HasPreviousPage: page.Reach.HasPrevious},
	}
	edges := make([]inbox.NotificationEdge, len(page.Rows))
	for i, n := range page.Rows {
		edges[i].Node = n
		c.Edges[i] = &edges[i]
	}
	if n := len(edges); n > 0 {
		start, end := edges[0].Cursor(), edges[n-1].Cursor()
		c.PageInfo.StartCursor, c.PageInfo.EndCursor = &start, &end
	}
	return c
}

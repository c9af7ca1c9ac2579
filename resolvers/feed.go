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
	name := readFeed{graphql.GetFieldContext(ctx).Field.Alias}
	page, err := newPage(ctx, first, after, last, before)
	if err != nil {
		return nil, refuse(ctx, r.store, user.ID, name, err)
	}
	list, err := newFilter(filter)
	if err != nil {
		return nil, refuse(ctx, r.store, user.ID, name, err)
	}
	page.WithoutBody = !selects(ctx, "edges", "node", "body") && !selects(ctx, "nodes", "body")
	page.WithoutData = !selects(ctx, "edges", "node", "data") && !selects(ctx, "nodes", "data")
	wanted := extrasOf(ctx, "edges", "node").or(extrasOf(ctx, "nodes"))
	found, err := load(ctx, r.store, user.ID, read[storage.Page[inbox.Notification]]{
		name: name,
		queue: func(b *storage.Batch, users []string) map[string]storage.Page[inbox.Notification] {
			return b.FeedPages(users, page, list)
		},
		complete: func(ctx context.Context, pages map[string]storage.Page[inbox.Notification]) error {
			return wanted.fillPages(ctx, r.store, pages)
		},
	})
	if err != nil {
		return nil, err
	}
	edges, info := connect(found.Rows, found.Reach, newNotificationEdge)
	return &graph.NotificationConnection{Edges: edges, Nodes: found.Rows, PageInfo: info}, nil
}

// newFilter turns the argument into a filter. Without one, a list leaves archived notifications out.
func newFilter(in *graph.NotificationFilter) (inbox.Filter, error) {
	if in == nil {
		archived := false
		return inbox.Filter{Archived: &archived}, nil
	}
	return inbox.NewFilter(in.Status, in.Categories, in.Archived)
}

func newNotificationEdge(n *inbox.Notification) inbox.NotificationEdge {
	return inbox.NotificationEdge{Edge: inbox.Edge[*inbox.Notification]{Node: n}}
}

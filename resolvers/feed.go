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
	withNames := selectsNames(ctx, "edges", "node") || selectsNames(ctx, "nodes")
	read := readFeed{graphql.GetFieldContext(ctx).Field.Alias}
	found, err := load(ctx, user.ID, read, func(ctx context.Context, users []string) (map[string]storage.Page[inbox.Notification], error) {
		pages, err := r.store.FeedPages(ctx, users, page, list)
		if err != nil || !withNames {
			return pages, err
		}
		var all []*inbox.Notification
		for _, p := range pages {
			all = append(all, p.Rows...)
		}
		return pages, nameActors(ctx, r.store, all)
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
		Edges:    make([]*graph.NotificationEdge, len(page.Rows)),
		Nodes:    page.Rows,
		PageInfo: &graph.PageInfo{HasNextPage: page.Reach.HasNext, HasPreviousPage: page.Reach.HasPrevious},
	}
	for i, n := range page.Rows {
		c.Edges[i] = &graph.NotificationEdge{Cursor: n.Cursor().String(), Node: n}
	}
	if len(c.Edges) > 0 {
		c.PageInfo.StartCursor = &c.Edges[0].Cursor
		c.PageInfo.EndCursor = &c.Edges[len(c.Edges)-1].Cursor
	}
	return c
}

// selectsNames reports whether the client has selected more than the id of the actors of the
// notifications at a path.
func selectsNames(ctx context.Context, path ...string) bool {
	actor := append(path, "actor")
	return selects(ctx, append(actor, "displayName")...) || selects(ctx, append(actor, "avatarUrl")...)
}

// nameActors gives the notifications' actors the names and pictures of their accounts, by one statement.
func nameActors(ctx context.Context, store *storage.Store, notifications []*inbox.Notification) error {
	var ids []string
	seen := map[string]bool{}
	for _, n := range notifications {
		if n.Actor != nil && !seen[n.Actor.UserID] {
			seen[n.Actor.UserID] = true
			ids = append(ids, n.Actor.UserID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	accounts, err := store.Accounts(ctx, ids)
	if err != nil {
		return err
	}
	for _, n := range notifications {
		if n.Actor != nil {
			n.Actor = inbox.NewActor(n.Actor.UserID, accounts[n.Actor.UserID])
		}
	}
	return nil
}

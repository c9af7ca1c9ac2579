package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"belfry/graph"
	"belfry/inbox"
	"belfry/normal"
	"belfry/storage"
)

// readItems is a page of items; see readFeed.
type readItems struct{ alias string }

// Items resolves User.items.
func (r userResolver) Items(
	ctx context.Context, user *inbox.User, tag *string, first *int32, after *string, last *int32, before *string,
) (*graph.ItemConnection, error) {
	if err := mayRead(ctx, user.ID); err != nil {
		return nil, err
	}
	name := readItems{graphql.GetFieldContext(ctx).Field.Alias}
	page, err := newPage(ctx, first, after, last, before)
	if err != nil {
		return nil, refuse(ctx, r.store, user.ID, name, err)
	}
	if tag != nil {
		normalised := normal.Tag(*tag)
		if err := inbox.CheckTag(normalised); err != nil {
			return nil, refuse(ctx, r.store, user.ID, name, err)
		}
		tag = &normalised
	}
	found, err := load(ctx, r.store, user.ID, read[storage.Page[inbox.Item]]{
		name: name,
		queue: func(b *storage.Batch, users []string) map[string]storage.Page[inbox.Item] {
			return b.ItemPages(users, page, tag)
		},
	})
	if err != nil {
		return nil, err
	}
	edges, info := connect(found.Rows, found.Reach, newItemEdge)
	return &graph.ItemConnection{Edges: edges, Nodes: found.Rows, PageInfo: info}, nil
}

func newItemEdge(i *inbox.Item) inbox.ItemEdge {
	return inbox.ItemEdge{Edge: inbox.Edge[*inbox.Item]{Node: i}}
}

// PutItem resolves Mutation.putItem.
func (r mutationResolver) PutItem(ctx context.Context, input graph.PutItemInput) (*graph.PutItemPayload, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		return nil, err
	}
	in := &inbox.ItemInput{
		UserID: input.UserID, ItemID: input.ItemID, Title: input.Title, URL: input.URL, Data: input.Data,
		Tags: make([]string, len(input.Tags)), CreatedAt: input.CreatedAt,
	}
	for i, tag := range input.Tags {
		in.Tags[i] = normal.Tag(tag)
	}
	if userErrors := in.Check(now()); len(userErrors) > 0 {
		return &graph.PutItemPayload{UserErrors: userErrors}, nil
	}
	item, err := r.store.PutItem(ctx, in)
	if err != nil {
		return nil, err
	}
	edge := newItemEdge(item)
	return &graph.PutItemPayload{ItemEdge: &edge}, nil
}

// DeleteItem resolves Mutation.deleteItem.
func (r mutationResolver) DeleteItem(ctx context.Context, input graph.DeleteItemInput) (*graph.DeleteItemPayload, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		return nil, err
	}
	n, ok := inbox.ParseNodeID(input.ID)
	if !ok || n.Kind != inbox.KindItem {
		return &graph.DeleteItemPayload{UserErrors: []*inbox.UserError{{
			Code: inbox.Invalid, Message: "not the id of an item", Field: []string{"input", "id"},
		}}}, nil
	}
	payload := &graph.DeleteItemPayload{}
	found, err := r.store.DeleteItem(ctx, n.UserID, n.Position.ID)
	if found {
		payload.DeletedID = &input.ID
	}
	return payload, err
}

package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"belfry/graph"
	"belfry/inbox"
	"belfry/storage"
)

// readActivities is a page of activities; see readFeed.
type readActivities struct{ alias string }

// Activities resolves User.activities.
func (r userResolver) Activities(
	ctx context.Context, user *inbox.User, first *int32, after *string, last *int32, before *string,
) (*graph.ActivityConnection, error) {
	if err := mayRead(ctx, user.ID); err != nil {
		return nil, err
	}
	name := readActivities{graphql.GetFieldContext(ctx).Field.Alias}
	page, err := newPage(ctx, first, after, last, before)
	if err != nil {
		return nil, refuse(ctx, r.store, user.ID, name, err)
	}
	found, err := load(ctx, r.store, user.ID, read[storage.Page[inbox.Activity]]{
		name: name,
		queue: func(b *storage.Batch, users []string) map[string]storage.Page[inbox.Activity] {
			return b.ActivityPages(users, page)
		},
	})
	if err != nil {
		return nil, err
	}
	edges, info := connect(found.Rows, found.Reach, newActivityEdge)
	return &graph.ActivityConnection{Edges: edges, Nodes: found.Rows, PageInfo: info}, nil
}

func newActivityEdge(a *inbox.Activity) inbox.ActivityEdge {
	return inbox.ActivityEdge{Edge: inbox.Edge[*inbox.Activity]{Node: a}}
}

// RecordActivity resolves Mutation.recordActivity.
func (r mutationResolver) RecordActivity(ctx context.Context, input graph.RecordActivityInput) (*graph.RecordActivityPayload, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		return nil, err
	}
	in := &inbox.ActivityInput{
		UserID: input.UserID, Verb: input.Verb, Object: input.Object, URL: input.URL, Data: input.Data,
		OccurredAt: input.OccurredAt, ExpiresAt: input.ExpiresAt, IdempotencyKey: input.IdempotencyKey,
	}
	if userErrors := in.Check(now()); len(userErrors) > 0 {
		return &graph.RecordActivityPayload{UserErrors: userErrors}, nil
	}
	activity, ok, err := r.store.RecordActivity(ctx, in, r.activityTTL)
	if err != nil {
		return nil, err
	}
	payload := &graph.RecordActivityPayload{}
	switch {
	case !ok:
		payload.UserErrors = []*inbox.UserError{{
			Code:    inbox.IdempotencyConflict,
			Message: "used before for other content",
			Field:   []string{"input", "idempotencyKey"},
		}}
	case activity != nil:
		edge := newActivityEdge(activity)
		payload.ActivityEdge = &edge
	}
	return payload, nil
}

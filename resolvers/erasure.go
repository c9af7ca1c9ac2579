package resolvers

import (
	"context"

	"belfry/graph"
	"belfry/inbox"
)

// EraseUser resolves Mutation.eraseUser.
func (r mutationResolver) EraseUser(ctx context.Context, input graph.EraseUserInput) (*graph.EraseUserPayload, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		return nil, err
	}
	if userErrors := inbox.CheckUserID(input.UserID); len(userErrors) > 0 {
		return &graph.EraseUserPayload{UserErrors: userErrors}, nil
	}
	if err := r.eraseUser(ctx, input.UserID); err != nil {
		return nil, err
	}
	return &graph.EraseUserPayload{ErasedUserID: &input.UserID}, nil
}

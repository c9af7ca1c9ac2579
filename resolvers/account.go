package resolvers

import (
	"context"

	"belfry/graph"
	"belfry/inbox"
)

// PutAccount resolves Mutation.putAccount.
func (r mutationResolver) PutAccount(ctx context.Context, input graph.PutAccountInput) (*graph.PutAccountPayload, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		return nil, err
	}
	in := inbox.AccountInput{
		UserID: input.UserID, Email: input.Email, DisplayName: input.DisplayName,
		AvatarURL: input.AvatarURL, CreatedAt: input.CreatedAt,
	}
	if userErrors := in.Check(now()); len(userErrors) > 0 {
		return &graph.PutAccountPayload{UserErrors: userErrors}, nil
	}
	if err := r.store.PutAccount(ctx, in); err != nil {
		return nil, err
	}
	return &graph.PutAccountPayload{User: &inbox.User{ID: in.UserID}}, nil
}

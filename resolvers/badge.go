package resolvers

import (
	"context"

	"belfry/graph"
	"belfry/inbox"
)

// What is read of a user's badge; one batch each.
type (
	readUnread struct{}
	readBadge  struct{}
)

// UnreadCount resolves User.unreadCount.
func (r userResolver) UnreadCount(ctx context.Context, user *inbox.User) (int32, error) {
	if user.Badge != nil {
		return user.Badge.Unread, nil
	}
	if err := mayRead(ctx, user.ID); err != nil {
		return 0, err
	}
	if siblingSelected(ctx, "unseenCount") {
		b, err := load(ctx, user.ID, readBadge{}, r.store.Badges)
		return b.Unread, err
	}
	b, err := load(ctx, user.ID, readUnread{}, r.store.UnreadCounts)
	return b.Unread, err
}

// UnseenCount resolves User.unseenCount.
func (r userResolver) UnseenCount(ctx context.Context, user *inbox.User) (int32, error) {
	if user.Badge != nil {
		return user.Badge.Unseen, nil
	}
	if err := mayRead(ctx, user.ID); err != nil {
		return 0, err
	}
	b, err := load(ctx, user.ID, readBadge{}, r.store.Badges)
	return b.Unseen, err
}

// MarkNotificationsSeen resolves Mutation.markNotificationsSeen.
func (r mutationResolver) MarkNotificationsSeen(
	ctx context.Context, input graph.MarkNotificationsSeenInput,
) (*graph.MarkNotificationsSeenPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	payload := &graph.MarkNotificationsSeenPayload{User: &inbox.User{ID: caller.UserID}}
	through, userErr := ownPosition(caller, input.ThroughID)
	if userErr != nil {
		payload.UserErrors = []*inbox.UserError{userErr}
		return payload, nil
	}
	err = r.store.MarkSeen(ctx, caller.UserID, through)
	r.hub.Changed(caller.UserID)
	return payload, err
}

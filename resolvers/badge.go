package resolvers

import (
	"context"
	"time"

	"belfry/graph"
	"belfry/inbox"
	"belfry/storage"
)

// What is read of a user's badge; one batch each.
type (
	readUnread struct{}
	readBadge  struct{}
)

// UnreadCount resolves User.unreadCount.
func (r userResolver) UnreadCount(ctx context.Context, user *inbox.User) (int32, error) {
	b, err := r.badge(ctx, user)
	return b.Unread, err
}

// UnseenCount resolves User.unseenCount.
func (r userResolver) UnseenCount(ctx context.Context, user *inbox.User) (int32, error) {
	b, err := r.badge(ctx, user)
	return b.Unseen, err
}

// CountedAt resolves User.countedAt.
func (r userResolver) CountedAt(ctx context.Context, user *inbox.User) (*time.Time, error) {
	b, err := r.badge(ctx, user)
	return &b.CountedAt, err
}

// badge reads the user's counters, once for all of the fields that show them. What is unseen takes more to
// count, so only where it is selected.
func (r userResolver) badge(ctx context.Context, user *inbox.User) (inbox.Badge, error) {
	if user.Badge != nil {
		return *user.Badge, nil
	}
	if err := mayRead(ctx, user.ID); err != nil {
		return inbox.Badge{}, err
	}
	if siblingSelected(ctx, "unseenCount") {
		return load(ctx, r.store, user.ID, read[inbox.Badge]{name: readBadge{}, queue: (*storage.Batch).Badges})
	}
	return load(ctx, r.store, user.ID, read[inbox.Badge]{name: readUnread{}, queue: (*storage.Batch).UnreadCounts})
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

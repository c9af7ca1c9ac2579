package resolvers

import (
	"context"

	"belfry/graph"
	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
)

// BadgeChanged resolves Subscription.badgeChanged.
func (r subscriptionResolver) BadgeChanged(ctx context.Context) (<-chan *graph.BadgePayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	return live.SubscribeBadge(ctx, r.hub, caller.UserID, func(userID string, b inbox.Badge) *graph.BadgePayload {
		return &graph.BadgePayload{User: &inbox.User{ID: userID, Badge: &b}}
	}), nil
}

// InboxChanged resolves Subscription.inboxChanged.
func (r subscriptionResolver) InboxChanged(ctx context.Context, categories []string) (<-chan graph.InboxEvent, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	if len(categories) > inbox.MaxCategories {
		return nil, inbox.BadArgument("categories", "categories has more than %d elements", inbox.MaxCategories)
	}
	return live.SubscribeFeed(ctx, r.hub, caller.UserID, categories, newInboxEvent), nil
}

// newInboxEvent turns a change into what the schema calls it.
func newInboxEvent(e live.FeedEvent) graph.InboxEvent {
	state := e.Current()
	user := &inbox.User{ID: state.UserID, Badge: &state.Badge}
	switch e := e.(type) {
	case *live.Created:
		edge := newNotificationEdge(e.Notification)
		return &graph.NotificationCreated{User: user, NotificationEdge: &edge}
	case *live.Updated:
		return &graph.NotificationsUpdated{User: user, Notifications: e.Notifications}
	case *live.AllRead:
		return &graph.AllNotificationsRead{User: user, Through: &e.Through, ReadAt: e.ReadAt, Categories: e.Categories}
	case *live.Deleted:
		ids := make([]string, len(e.Notifications))
		for i, g := range e.Notifications {
			ids[i] = inbox.NotificationID(state.UserID, g.Position)
		}
		return &graph.NotificationsDeleted{User: user, DeletedIds: ids}
	}
	return &graph.InboxSnapshot{User: user}
}

// ReadFeedStates reads what a hub needs for the subscribers of inboxes: each user's counters and newest
// notifications with the names of their actors.
func ReadFeedStates(store *storage.Store) func(context.Context, []string) (map[string]live.FeedState, error) {
	return func(ctx context.Context, userIDs []string) (map[string]live.FeedState, error) {
		read, err := store.FeedStates(ctx, userIDs, live.WindowSize)
		if err != nil {
			return nil, err
		}
		states := make(map[string]live.FeedState, len(read))
		var all []*inbox.Notification
		for u, s := range read {
			states[u] = live.FeedState{Badge: s.Badge, Feed: s.Feed}
			all = append(all, s.Feed...)
		}
		return states, nameActors(ctx, store, all)
	}
}

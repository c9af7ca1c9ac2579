package resolvers

import (
	"context"
	"fmt"
	"strconv"

	"belfry/graph"
	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
)

// maxIDs is the most notifications that one call changes by id.
const maxIDs = 100

// MarkNotificationsRead resolves Mutation.markNotificationsRead.
func (r mutationResolver) MarkNotificationsRead(ctx context.Context, input graph.NotificationIdsInput) (*graph.NotificationsPayload, error) {
	return r.mark(ctx, input, r.store.MarkRead)
}

// MarkNotificationsUnread resolves Mutation.markNotificationsUnread.
func (r mutationResolver) MarkNotificationsUnread(ctx context.Context, input graph.NotificationIdsInput) (*graph.NotificationsPayload, error) {
	return r.mark(ctx, input, r.store.MarkUnread)
}

// ArchiveNotifications resolves Mutation.archiveNotifications.
func (r mutationResolver) ArchiveNotifications(ctx context.Context, input graph.NotificationIdsInput) (*graph.NotificationsPayload, error) {
	return r.mark(ctx, input, r.store.Archive)
}

// UnarchiveNotifications resolves Mutation.unarchiveNotifications.
func (r mutationResolver) UnarchiveNotifications(ctx context.Context, input graph.NotificationIdsInput) (*graph.NotificationsPayload, error) {
	return r.mark(ctx, input, r.store.Unarchive)
}

// mark runs one of the store's ways to change some of the caller's notifications.
func (r mutationResolver) mark(
	ctx context.Context, input graph.NotificationIdsInput,
	change func(context.Context, string, []inbox.Cursor) (storage.Marked, error),
) (*graph.NotificationsPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	payload := &graph.NotificationsPayload{User: &inbox.User{ID: caller.UserID}}
	positions, userErrors := ownPositions(caller, input.Ids)
	if len(userErrors) > 0 {
		payload.UserErrors = userErrors
		return payload, nil
	}
	marked, err := change(ctx, caller.UserID, positions)
	if err != nil || len(marked.Changed) > 0 {
		r.hub.Changed(caller.UserID)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		if n := marked.Notifications[p]; n != nil {
			payload.Notifications = append(payload.Notifications, n)
		}
		if marked.Changed[p] {
			payload.ChangedIds = append(payload.ChangedIds, inbox.NotificationID(caller.UserID, p))
		}
	}
	return payload, extrasOf(ctx, "notifications").fill(ctx, r.store, payload.Notifications)
}

// DeleteNotifications resolves Mutation.deleteNotifications.
func (r mutationResolver) DeleteNotifications(ctx context.Context, input graph.NotificationIdsInput) (*graph.DeleteNotificationsPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	payload := &graph.DeleteNotificationsPayload{User: &inbox.User{ID: caller.UserID}}
	positions, userErrors := ownPositions(caller, input.Ids)
	if len(userErrors) > 0 {
		payload.UserErrors = userErrors
		return payload, nil
	}
	deleted, err := r.store.DeleteNotifications(ctx, caller.UserID, positions)
	if err != nil || len(deleted) > 0 {
		r.hub.Changed(caller.UserID)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range positions {
		if deleted[p] {
			payload.DeletedIds = append(payload.DeletedIds, inbox.NotificationID(caller.UserID, p))
		}
	}
	return payload, nil
}

// MarkAllNotificationsRead resolves Mutation.markAllNotificationsRead.
func (r mutationResolver) MarkAllNotificationsRead(
	ctx context.Context, input graph.MarkAllNotificationsReadInput,
) (*graph.MarkAllNotificationsReadPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	payload := &graph.MarkAllNotificationsReadPayload{User: &inbox.User{ID: caller.UserID}}
	through, userErr := ownPosition(caller, input.ThroughID)
	if userErr != nil {
		payload.UserErrors = append(payload.UserErrors, userErr)
	}
	payload.UserErrors = append(payload.UserErrors, inbox.CheckCategories(input.Categories)...)
	if len(payload.UserErrors) > 0 {
		return payload, nil
	}
	marked, err := r.store.MarkAllRead(ctx, caller.UserID, through, input.Categories)
	if err != nil {
		r.hub.Changed(caller.UserID) // some batches may have been marked
		return nil, err
	}
	if marked.Changed > 0 {
		r.hub.ChangedAll(caller.UserID, live.MarkedAll{
			Through: marked.Through, ReadAt: marked.ReadAt, Categories: input.Categories,
		})
		payload.ChangedCount = int32(min(marked.Changed, maxInt32)) //nolint:gosec // Bounded.
		payload.Through, payload.ReadAt = &marked.Through, &marked.ReadAt
	}
	return payload, nil
}

// maxInt32 is the greatest Int of GraphQL.
const maxInt32 = 1<<31 - 1

// ownPositions returns the places of those ids that are the caller's own, once each and in the order
// given. Others' are left out, as those are that do not exist.
func ownPositions(caller inbox.Caller, ids []string) ([]inbox.Cursor, []*inbox.UserError) {
	if len(ids) == 0 {
		return nil, []*inbox.UserError{invalidIDs(inbox.Invalid, "at least one id is required")}
	}
	if len(ids) > maxIDs {
		return nil, []*inbox.UserError{invalidIDs(inbox.TooLarge, fmt.Sprintf("at most %d ids are allowed", maxIDs))}
	}
	var positions []inbox.Cursor
	var userErrors []*inbox.UserError
	seen := map[inbox.Cursor]bool{}
	for i, id := range ids {
		n, ok := inbox.ParseNodeID(id)
		switch {
		case !ok || n.Kind != inbox.KindNotification:
			userErrors = append(userErrors, invalidIDs(inbox.Invalid, "not the id of a notification", strconv.Itoa(i)))
		case n.UserID == caller.UserID && !seen[n.Position]:
			seen[n.Position] = true
			positions = append(positions, n.Position)
		}
	}
	return positions, userErrors
}

func invalidIDs(code inbox.UserErrorCode, message string, index ...string) *inbox.UserError {
	return &inbox.UserError{Code: code, Message: message, Field: append([]string{"input", "ids"}, index...)}
}

// ownPosition returns the place that throughId names; nil for nil. The notification itself may be gone.
func ownPosition(caller inbox.Caller, throughID *string) (*inbox.Cursor, *inbox.UserError) {
	if throughID == nil {
		return nil, nil
	}
	field := []string{"input", "throughId"}
	n, ok := inbox.ParseNodeID(*throughID)
	if !ok || n.Kind != inbox.KindNotification {
		return nil, &inbox.UserError{Code: inbox.Invalid, Message: "not the id of a notification", Field: field}
	}
	if n.UserID != caller.UserID {
		return nil, &inbox.UserError{Code: inbox.NotFound, Message: "no such notification", Field: field}
	}
	return &n.Position, nil
}

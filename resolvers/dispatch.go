package resolvers

import (
	"context"
	"fmt"

	"belfry/graph"
	"belfry/inbox"
)

// Dispatch resolves Mutation.dispatch.
func (r mutationResolver) Dispatch(ctx context.Context, input graph.DispatchInput) (*graph.DispatchPayload, error) {
	if err := withScope(ctx, inbox.ScopeDispatch); err != nil {
		return nil, err
	}
	event := &inbox.Event{
		RunID: input.RunID, IdempotencyKey: input.IdempotencyKey, Kind: input.Kind, Category: input.Category,
		Recipients: input.Recipients, ActorID: input.Actor, Title: input.Title, Body: input.Body, URL: input.URL,
		Data: input.Data, OccurredAt: input.OccurredAt,
	}
	if userErrors := event.Check(now()); len(userErrors) > 0 {
		return &graph.DispatchPayload{UserErrors: userErrors}, nil
	}
	results, err := r.store.Dispatch(ctx, event)
	if err != nil {
		r.hub.Changed(event.DistinctRecipients()...)
		return nil, err
	}
	payload := &graph.DispatchPayload{Results: results}
	conflicts := 0
	var changed []string
	for _, result := range results {
		switch result.Status {
		case inbox.Created:
			payload.CreatedCount++
			changed = append(changed, result.Recipient)
		case inbox.Duplicate:
			payload.DuplicateCount++
		case inbox.Conflict:
			conflicts++
		case inbox.Muted:
		}
	}
	r.hub.Changed(changed...)
	if len(changed) > 0 {
		r.wakePush()
	}
	if conflicts > 0 {
		payload.UserErrors = []*inbox.UserError{conflict(input, conflicts)}
	}
	return payload, nil
}

// conflict tells a producer that looks at userErrors alone that its key stood for other content.
func conflict(input graph.DispatchInput, count int) *inbox.UserError {
	field := "runId"
	if input.IdempotencyKey != nil {
		field = "idempotencyKey"
	}
	return &inbox.UserError{
		Code:    inbox.IdempotencyConflict,
		Message: fmt.Sprintf("used before for other content, for %d of the recipients", count),
		Field:   []string{"input", field},
	}
}

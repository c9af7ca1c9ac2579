package resolvers

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"

	"belfry/graph"
	"belfry/inbox"
	"belfry/storage"
)

type readPreferences struct{}

// Preferences resolves Settings.preferences. Below a user they were read with the settings.
func (r settingsResolver) Preferences(ctx context.Context, settings *inbox.Settings) ([]*inbox.Preference, error) {
	if settings.Preferences != nil {
		return settings.Preferences, nil
	}
	return load(ctx, r.store, settings.UserID, read[[]*inbox.Preference]{
		name: readPreferences{}, queue: (*storage.Batch).Preferences,
	})
}

// UpdateSettings resolves Mutation.updateSettings.
func (r mutationResolver) UpdateSettings(ctx context.Context, input graph.UpdateSettingsInput) (*graph.UpdateSettingsPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	change := inbox.SettingsChange{
		Theme: changeOf(input.Theme), Locale: changeOf(input.Locale),
		TimeZone: changeOf(input.TimeZone), EmailDigest: changeOf(input.EmailDigest),
	}
	if userErrors := change.Check(); len(userErrors) > 0 {
		return &graph.UpdateSettingsPayload{UserErrors: userErrors}, nil
	}
	settings, err := r.store.UpdateSettings(ctx, caller.UserID, change)
	if err != nil {
		return nil, err
	}
	return &graph.UpdateSettingsPayload{Settings: settings}, nil
}

func changeOf[T any](o graphql.Omittable[*T]) inbox.Change[T] {
	value, isSet := o.ValueOK()
	return inbox.Change[T]{Set: isSet, Value: value}
}

// SetPreference resolves Mutation.setPreference.
func (r mutationResolver) SetPreference(ctx context.Context, input graph.SetPreferenceInput) (*graph.UpdateSettingsPayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	p := inbox.Preference{Category: input.Category, Channel: input.Channel, Enabled: input.Enabled}
	if userErrors := p.Check(); len(userErrors) > 0 {
		return &graph.UpdateSettingsPayload{UserErrors: userErrors}, nil
	}
	settings, ok, err := r.store.SetPreference(ctx, caller.UserID, p)
	if err != nil {
		return nil, err
	}
	payload := &graph.UpdateSettingsPayload{Settings: settings}
	if !ok {
		payload.UserErrors = []*inbox.UserError{{
			Code:    inbox.TooLarge,
			Message: fmt.Sprintf("a user has at most %d preferences", inbox.MaxPreferences),
			Field:   []string{"input", "category"},
		}}
	}
	return payload, nil
}

package resolvers

import (
	"context"

	"belfry/inbox"
	"belfry/storage"
)

// Viewer resolves Query.viewer.
func (r queryResolver) Viewer(ctx context.Context) (*inbox.User, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	return &inbox.User{ID: caller.UserID}, nil
}

// User resolves Query.user.
func (r queryResolver) User(ctx context.Context, userID string) (*inbox.User, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	return visibleUser(caller, userID), nil
}

// Users resolves Query.users.
func (r queryResolver) Users(ctx context.Context, userIDs []string) ([]*inbox.User, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	if len(userIDs) > inbox.MaxUsers {
		return nil, inbox.BadArgument("userIds", "userIds has more than %d elements", inbox.MaxUsers)
	}
	users := make([]*inbox.User, len(userIDs))
	for i, id := range userIDs {
		users[i] = visibleUser(caller, id)
	}
	return users, nil
}

// visibleUser returns nil for a user that the caller may not see, exactly as for an id that can name
// nobody.
func visibleUser(caller inbox.Caller, userID string) *inbox.User {
	if !inbox.ValidUserID(userID) || !caller.MayRead(userID) {
		return nil
	}
	return &inbox.User{ID: userID}
}

// What is read of a user's profile; one read each.
type (
	readAccount            struct{}
	readSettings           struct{ withPreferences bool }
	readAccountAndSettings struct{ withPreferences bool }
)

// Account resolves User.account. Who may write accounts may also see them.
func (r userResolver) Account(ctx context.Context, user *inbox.User) (*inbox.Account, error) {
	if err := withScope(ctx, inbox.ScopeAdmin); err != nil {
		if err := mayRead(ctx, user.ID); err != nil {
			return nil, err
		}
	}
	if siblingSelected(ctx, "settings") {
		p, err := r.profile(ctx, user.ID)
		return p.Account, err
	}
	return load(ctx, r.store, user.ID, read[*inbox.Account]{name: readAccount{}, queue: (*storage.Batch).Accounts})
}

// Settings resolves User.settings.
func (r userResolver) Settings(ctx context.Context, user *inbox.User) (*inbox.Settings, error) {
	if err := mayRead(ctx, user.ID); err != nil {
		return nil, err
	}
	if siblingSelected(ctx, "account") {
		p, err := r.profile(ctx, user.ID)
		return p.Settings, err
	}
	name := readSettings{siblingSelected(ctx, "settings", "preferences")}
	return load(ctx, r.store, user.ID, read[*inbox.Settings]{
		name: name,
		queue: func(b *storage.Batch, users []string) map[string]*inbox.Settings {
			return b.Settings(users, name.withPreferences)
		},
	})
}

// profile reads account and settings by one statement.
func (r userResolver) profile(ctx context.Context, userID string) (storage.Profile, error) {
	name := readAccountAndSettings{siblingSelected(ctx, "settings", "preferences")}
	return load(ctx, r.store, userID, read[storage.Profile]{
		name: name,
		queue: func(b *storage.Batch, users []string) map[string]storage.Profile {
			return b.Profiles(users, name.withPreferences)
		},
	})
}

// Package resolvers turns GraphQL words into domain words and back: a file per topic, and no rule or
// statement of its own. graph.ResolverRoot lists what it must answer.
package resolvers

import (
	"context"
	"time"

	"belfry/graph"
	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
)

// Resolver answers every field that is more than a value at hand.
type Resolver struct {
	store       *storage.Store
	hub         *live.Hub
	wakePush    func()
	eraseUser   func(ctx context.Context, userID string) error
	activityTTL time.Duration
}

// Config is what a Resolver needs.
type Config struct {
	Store *storage.Store
	// Hub is told of every change of an inbox.
	Hub *live.Hub
	// WakePush is called when there may be something to push.
	WakePush func()
	// EraseUser removes every trace of a user. It fails with Unavailable where that takes longer.
	EraseUser func(ctx context.Context, userID string) error
	// ActivityTTL is when an activity expires that does not say so itself, counted from when it was done; 0 for
	// never.
	ActivityTTL time.Duration
}

var _ graph.ResolverRoot = (*Resolver)(nil)

// New returns a Resolver.
//
// After an error a change may have been made all the same, when the connection broke during the commit:
// the hub is told then too, since a hint too many costs a look and one too few a wrong badge.
func New(cfg Config) *Resolver {
	return &Resolver{
		store: cfg.Store, hub: cfg.Hub, wakePush: cfg.WakePush, eraseUser: cfg.EraseUser, activityTTL: cfg.ActivityTTL,
	}
}

type (
	queryResolver    struct{ *Resolver }
	mutationResolver struct{ *Resolver }
	userResolver     struct{ *Resolver }
	settingsResolver struct{ *Resolver }

	subscriptionResolver struct{ *Resolver }
)

// Query returns the resolver of the root's reads.
func (r *Resolver) Query() graph.QueryResolver { return queryResolver{r} }

// Mutation returns the resolver of the root's writes.
func (r *Resolver) Mutation() graph.MutationResolver { return mutationResolver{r} }

// User returns the resolver of a user's fields.
func (r *Resolver) User() graph.UserResolver { return userResolver{r} }

// Settings returns the resolver of the fields of a user's settings.
func (r *Resolver) Settings() graph.SettingsResolver { return settingsResolver{r} }

// Subscription returns the resolver of the root's streams.
func (r *Resolver) Subscription() graph.SubscriptionResolver { return subscriptionResolver{r} }

// now is the server's time, for the rules that bound a client's.
func now() time.Time { return time.Now() }

// withScope returns an error unless the caller has the scope.
func withScope(ctx context.Context, scope inbox.Scope) error {
	caller, err := inbox.CallerFrom(ctx)
	if err == nil && !caller.Has(scope) {
		err = inbox.Errorf(inbox.Forbidden, "the token lacks the scope %q", scope)
	}
	return err
}

// mayRead returns an error unless the caller may read the user's inbox. Every field below a User asks:
// a mutation's payload may hold a user whose inbox its caller may not read.
func mayRead(ctx context.Context, userID string) error {
	caller, err := inbox.CallerFrom(ctx)
	if err == nil && !caller.MayRead(userID) {
		err = inbox.Errorf(inbox.Forbidden, "the token lacks the scope %q", inbox.ScopeRead)
	}
	return err
}

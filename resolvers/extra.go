package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
	"belfry/storage"
)

// extras is what a client has selected of notifications that is not in their own rows. Whoever returns
// notifications fills it in, by one statement each for all of them.
type extras struct {
	names, deliveries bool
}

// extrasOf returns what is selected of the notifications at a path below the current field.
func extrasOf(ctx context.Context, path ...string) extras {
	set := graphql.GetFieldContext(ctx).Field.Selections
	below := func(names ...string) bool { return leadsTo(set, path, names) }
	return extras{
		names:      below("actor", "displayName") || below("actor", "avatarUrl"),
		deliveries: below("pushDeliveries"),
	}
}

func (e extras) or(f extras) extras {
	return extras{e.names || f.names, e.deliveries || f.deliveries}
}

// fill reads what is wanted.
func (e extras) fill(ctx context.Context, store *storage.Store, notifications []*inbox.Notification) error {
	if len(notifications) == 0 {
		return nil
	}
	if e.names {
		if err := nameActors(ctx, store, notifications); err != nil {
			return err
		}
	}
	if e.deliveries {
		return store.Ledger(ctx, notifications)
	}
	return nil
}

// fillPages reads what is wanted of the notifications on all of the pages.
func (e extras) fillPages(ctx context.Context, store *storage.Store, pages map[string]storage.Page[inbox.Notification]) error {
	if e == (extras{}) {
		return nil
	}
	var all []*inbox.Notification
	for _, p := range pages {
		all = append(all, p.Rows...)
	}
	return e.fill(ctx, store, all)
}

// nameActors gives the notifications' actors the names and pictures of their accounts, by one statement.
func nameActors(ctx context.Context, store *storage.Store, notifications []*inbox.Notification) error {
	var ids []string
	seen := map[string]bool{}
	for _, n := range notifications {
		if n.Actor != nil && !seen[n.Actor.UserID] {
			seen[n.Actor.UserID] = true
			ids = append(ids, n.Actor.UserID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	accounts, err := store.Accounts(ctx, ids)
	if err != nil {
		return err
	}
	for _, n := range notifications {
		if n.Actor != nil {
			n.Actor = inbox.NewActor(n.Actor.UserID, accounts[n.Actor.UserID])
		}
	}
	return nil
}

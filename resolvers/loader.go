package resolvers

import (
	"context"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"

	"belfry/inbox"
)

const (
	// batchTimeout bounds a batch, which does not end with the request that happened to start it.
	batchTimeout = 10 * time.Second
	// batchWait is how long a batch waits for keys that never come. It is not what a request waits: a batch
	// knows how many users it is for and starts with the last of them.
	batchWait = 50 * time.Millisecond
)

// Loaders batches the reads of one response. A response that outlives its data, such as the next event of
// a subscription, needs new ones.
type Loaders struct {
	mu      sync.Mutex
	loaders map[loaderKey]any // guarded by mu
}

// loaderKey tells one batch from another: what is read, and for the users of which list.
type loaderKey struct {
	list *graphql.FieldContext
	// read is comparable, of a type of its own for each kind of read, and holds the arguments.
	read any
}

type loadersKey struct{}

// WithLoaders returns a context for one response.
func WithLoaders(ctx context.Context) context.Context {
	return context.WithValue(ctx, loadersKey{}, &Loaders{loaders: map[loaderKey]any{}})
}

// load reads something of a user together with the same thing of the other users in the list that the
// current field stands in: one call of fetch for all of them. A user that fetch leaves out reads as the
// zero value.
func load[V any](
	ctx context.Context, userID string, read any, fetch func(context.Context, []string) (map[string]V, error),
) (V, error) {
	ls, ok := ctx.Value(loadersKey{}).(*Loaders)
	if !ok {
		ls = &Loaders{loaders: map[loaderKey]any{}}
	}
	list, size := usersAround(ctx)
	key := loaderKey{list, read}
	ls.mu.Lock()
	loader, ok := ls.loaders[key].(*dataloader.Loader[string, V])
	if !ok {
		loader = dataloader.NewBatchedLoader(batch(fetch),
			dataloader.WithBatchCapacity[string, V](size), dataloader.WithWait[string, V](batchWait))
		ls.loaders[key] = loader
	}
	ls.mu.Unlock()
	return loader.Load(ctx, userID)()
}

// batch makes a dataloader's function. It runs under a deadline of its own: the context it is given
// belongs to the first caller, whose cancellation is not the others'.
func batch[V any](fetch func(context.Context, []string) (map[string]V, error)) dataloader.BatchFunc[string, V] {
	return func(ctx context.Context, userIDs []string) []*dataloader.Result[V] {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
		defer cancel()
		found, err := fetch(ctx, userIDs)
		results := make([]*dataloader.Result[V], len(userIDs))
		for i, u := range userIDs {
			results[i] = &dataloader.Result[V]{Data: found[u], Error: err}
		}
		return results
	}
}

// usersAround returns the list that the current field's object stands in, and how many users are in it;
// for an object outside a list the field that returned it, and 1.
func usersAround(ctx context.Context) (*graphql.FieldContext, int) {
	object := graphql.GetFieldContext(ctx).Parent
	root := object
	for fc := object; fc != nil; fc = fc.Parent {
		if fc.Index != nil && fc.Parent != nil {
			return fc.Parent, max(1, countUsers(fc.Parent.Result))
		}
		if fc.Field.Field != nil {
			root = fc
		}
	}
	return root, 1
}

// countUsers returns how many distinct users a list's objects belong to.
func countUsers(list any) int {
	users := map[string]struct{}{}
	add := func(n inbox.Node) {
		switch n := n.(type) {
		case *inbox.User:
			if n != nil {
				users[n.ID] = struct{}{}
			}
		case *inbox.Settings:
			users[n.UserID] = struct{}{}
		}
	}
	switch list := list.(type) {
	case []*inbox.User:
		for _, u := range list {
			add(u)
		}
	case []inbox.Node:
		for _, n := range list {
			add(n)
		}
	}
	return len(users)
}

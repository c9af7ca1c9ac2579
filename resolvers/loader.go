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
	// batchWait is how long a batch waits for keys that never come, since a field of one element has failed.
	// It is not what a request waits: a batch knows how many users it is for and starts with the last of
	// them. A shorter wait would split batches on a busy machine.
	batchWait = time.Second
)

// Loaders batches the reads of one response. A response that outlives its data, such as the next event of
// a subscription, needs new ones.
type Loaders struct {
	mu      sync.Mutex
	loaders map[loaderKey]any // guarded by mu
}

// loaderKey tells one batch from another: what is read, and for the objects of which list. Below an element
// of the list the same may be read at several depths, by elements of several types.
type loaderKey struct {
	list  *graphql.FieldContext
	depth int
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
	list, depth, size := objectsAround(ctx)
	key := loaderKey{list, depth, read}
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

// objectsAround returns the list that the current field's object stands in, how deep below the list's
// elements it stands, and how many such objects of different users there are. For an object outside a list
// it returns the field that led to it, and 1.
func objectsAround(ctx context.Context) (list *graphql.FieldContext, depth, size int) {
	object := graphql.GetFieldContext(ctx).Parent
	list = object
	for fc := object; fc != nil; fc = fc.Parent {
		if fc.Index != nil && fc.Parent != nil {
			// What is read below an element is read below a user.
			ofSettings := depth == 0 && isSettings(fc.Parent.Result, *fc.Index)
			return fc.Parent, depth, countUsers(fc.Parent.Result, ofSettings)
		}
		// Above the root's fields there is one context for all of them, of which payloads must not share a
		// batch: a second mutation's would have what the first one's has read.
		if fc.Field.Field != nil {
			list = fc
		}
		depth++
	}
	return list, 0, 1
}

// isSettings reports whether an element of a list is a user's settings.
func isSettings(list any, index int) bool {
	nodes, ok := list.([]inbox.Node)
	if !ok {
		return false
	}
	_, ok = nodes[index].(*inbox.Settings)
	return ok
}

// countUsers returns how many distinct users there are in a list, or how many distinct users' settings: a
// list of nodes may hold both.
func countUsers(list any, ofSettings bool) int {
	users := map[string]struct{}{}
	add := func(n inbox.Node) {
		switch n := n.(type) {
		case *inbox.User:
			if n != nil && !ofSettings {
				users[n.ID] = struct{}{}
			}
		case *inbox.Settings:
			if ofSettings {
				users[n.UserID] = struct{}{}
			}
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
	return max(1, len(users))
}

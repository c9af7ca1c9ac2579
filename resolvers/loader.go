package resolvers

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"belfry/storage"
)

// Loaders batches the reads of one response. A response that outlives its data, such as the next event of
// a subscription, needs new ones.
type Loaders struct {
	mu    sync.Mutex
	trips []*trip // a few; guarded by mu
}

// tripKey tells one trip to the database from another: the objects of one type of one list make it together.
// Below an element of the list the same type may stand at several depths.
type tripKey struct {
	list  *graphql.FieldContext
	depth int
	// object is the name of the type.
	object string
}

type loadersKey struct{}

// WithLoaders returns a context for one response.
func WithLoaders(ctx context.Context) context.Context {
	return context.WithValue(ctx, loadersKey{}, &Loaders{})
}

// read is how a field is read for several users.
type read[V any] struct {
	// name is comparable, of a type of its own for each kind of read, and holds the arguments.
	name any
	// queue adds the read's statements to a batch; a user that the map leaves out reads as the zero value.
	queue func(b *storage.Batch, userIDs []string) map[string]V
	// complete reads what can only be asked for when the answers are there; nil where nothing is.
	complete func(ctx context.Context, answers map[string]V) error
}

// load reads something of a user together with all that is read of the users in the list that the current
// field's object stands in: one round trip, and a statement for each kind of read.
func load[V any](ctx context.Context, store *storage.Store, userID string, r read[V]) (V, error) {
	found, err := tripOf(ctx, store, userID).join(ctx, question{r.name, userID}, func(b *storage.Batch, userIDs []string) answers {
		found := r.queue(b, userIDs)
		a := answers{of: func(user string) any { return found[user] }}
		if r.complete != nil {
			a.complete = func(ctx context.Context) error { return r.complete(ctx, found) }
		}
		return a
	})
	if err != nil {
		var none V
		return none, err
	}
	v, _ := found.of(userID).(V)
	return v, nil
}

// refuse says that a read which others wait for will not be made, and returns why.
func refuse(ctx context.Context, store *storage.Store, userID string, name any, why error) error {
	tripOf(ctx, store, userID).leave(ctx, question{name, userID})
	return why
}

// tripOf returns the trip that the current field's object goes on.
func tripOf(ctx context.Context, store *storage.Store, userID string) *trip {
	ls, ok := ctx.Value(loadersKey{}).(*Loaders)
	if !ok { // then nobody can be waited for
		return &trip{store: store, size: 1}
	}
	list, element, depth := placeOf(ctx)
	key := tripKey{list, depth, graphql.GetFieldContext(ctx).Object}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, t := range ls.trips {
		if t.key == key {
			return t
		}
	}
	t := &trip{key: key, store: store, size: countObjects(list, element, depth) * countReads(ctx, userID)}
	ls.trips = append(ls.trips, t)
	return t
}

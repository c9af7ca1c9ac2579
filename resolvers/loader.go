package resolvers

import (
	"context"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"

	"belfry/storage"
)

const (
	// batchTimeout bounds a batch, which does not end with the request that happened to start it.
	batchTimeout = 10 * time.Second
	// batchWait is how long a batch waits for questions that never come, since gqlgen refused a field's
	// arguments. It is not what a request waits: a batch knows how many questions there will be and leaves
	// with the last of them. A shorter wait would split batches on a busy machine.
	batchWait = time.Second
)

// Loaders batches the reads of one response. A response that outlives its data, such as the next event of
// a subscription, needs new ones.
type Loaders struct {
	mu    sync.Mutex
	trips map[tripKey]*trip // guarded by mu
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
	return context.WithValue(ctx, loadersKey{}, &Loaders{trips: map[tripKey]*trip{}})
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
	t := tripOf(ctx, store, userID)
	t.mu.Lock()
	if _, ok := t.reads[r.name]; !ok {
		t.reads[r.name] = func(b *storage.Batch, userIDs []string) answers {
			found := r.queue(b, userIDs)
			a := answers{of: func(user string) any { return found[user] }}
			if r.complete != nil {
				a.complete = func(ctx context.Context) error { return r.complete(ctx, found) }
			}
			return a
		}
	}
	t.mu.Unlock()
	answer, err := t.loader.Load(ctx, question{r.name, userID})()
	v, _ := answer.(V)
	return v, err
}

// refuse says that a read which others wait for will not be made, and returns why.
func refuse(ctx context.Context, store *storage.Store, userID string, name any, why error) error {
	tripOf(ctx, store, userID).loader.Load(ctx, question{refused{name}, userID})
	return why
}

// refused stands for a read that is not made.
type refused struct{ name any }

// question is one read of one user.
type question struct {
	name   any
	userID string
}

// trip gathers questions, asks them all by one storage.Batch, and hands out the answers.
type trip struct {
	store  *storage.Store
	loader *dataloader.Loader[question, any]
	mu     sync.Mutex
	reads  map[any]func(*storage.Batch, []string) answers // by name; guarded by mu
}

// answers are those of one read. Both functions are nil where it was refused, complete also where nothing is
// left to ask for.
type answers struct {
	of       func(userID string) any
	complete func(context.Context) error
}

// tripOf returns the trip that the current field's object goes on.
func tripOf(ctx context.Context, store *storage.Store, userID string) *trip {
	ls, ok := ctx.Value(loadersKey{}).(*Loaders)
	if !ok {
		ls = &Loaders{trips: map[tripKey]*trip{}}
	}
	list, depth, size := objectsAround(ctx)
	key := tripKey{list, depth, graphql.GetFieldContext(ctx).Object}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := ls.trips[key]
	if t == nil {
		t = &trip{store: store, reads: map[any]func(*storage.Batch, []string) answers{}}
		reads := size * countReads(ctx, userID)
		t.loader = dataloader.NewBatchedLoader(t.ask,
			dataloader.WithBatchCapacity[question, any](reads), dataloader.WithInputCapacity[question, any](reads),
			dataloader.WithWait[question, any](batchWait))
		ls.trips[key] = t
	}
	return t
}

// ask answers questions. It runs under a deadline of its own: the context it is given belongs to the first
// caller, whose cancellation is not the others'.
func (t *trip) ask(ctx context.Context, questions []question) []*dataloader.Result[any] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	var names []any
	users := map[any][]string{}
	for _, q := range questions {
		if _, ok := users[q.name]; !ok {
			names = append(names, q.name)
		}
		users[q.name] = append(users[q.name], q.userID)
	}
	var b storage.Batch
	found := make(map[any]answers, len(names))
	t.mu.Lock()
	for _, name := range names {
		if queue := t.reads[name]; queue != nil {
			found[name] = queue(&b, users[name])
		}
	}
	t.mu.Unlock()
	err := t.store.Send(ctx, &b)
	failed := make(map[any]error, len(names))
	for _, name := range names {
		if failed[name] = err; err == nil && found[name].complete != nil {
			failed[name] = found[name].complete(ctx)
		}
	}
	results := make([]*dataloader.Result[any], len(questions))
	for i, q := range questions {
		results[i] = &dataloader.Result[any]{Error: failed[q.name]}
		if a := found[q.name]; a.of != nil && failed[q.name] == nil {
			results[i].Data = a.of(q.userID)
		}
	}
	return results
}

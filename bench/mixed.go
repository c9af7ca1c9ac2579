package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"belfry/inbox"
)

// mixed looks at the memory of a server that has answered 100,000 requests of all kinds.
func (b *bench) mixed(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	requests := 100_000
	if b.isQuick() {
		requests = 4000
	}
	s, err := st.startBelfry(ctx, nil)
	if err != nil {
		return err
	}
	defer s.stop()
	newSource, err := st.mixture(ctx, s)
	if err != nil {
		return err
	}
	if err := s.askMany(ctx, requests/2, newSource); err != nil {
		return err
	}
	half := s.resident()
	if err := s.askMany(ctx, requests/2, newSource); err != nil {
		return err
	}
	end := s.resident()
	name := fmt.Sprintf("resident memory after %d mixed requests", requests)
	b.measured(name, "%.0f MB", []float64{float64(end) / 1e6}, atMost(96), "")
	b.measured(name+", against half of them", ratio, []float64{float64(end) / float64(half)}, atMost(1.05), "")
	return nil
}

// askMany asks so many things on all connections.
func (s *server) askMany(ctx context.Context, count int, newSource func(int) source) error {
	var left atomic.Int64
	left.Store(int64(count))
	errs := make(chan error, connections)
	var group sync.WaitGroup
	for c := range connections {
		next := newSource(c)
		group.Go(func() {
			w, err := s.dial(ctx)
			if err != nil {
				errs <- err
				return
			}
			defer w.close()
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if _, err := w.ask(next()); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	err := ctx.Err()
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// kind is a kind of request that a web app sends.
type kind struct {
	// share is how many of 100 requests are of it.
	share          int
	query, holding string
	// variables are for a user with notifications of these ids.
	variables func(ids []string) map[string]any
}

// kinds are what a mixture consists of, beside dispatches. Some of the users are asked for together.
func kinds(together []string) []kind {
	const marking = `mutation ($input: NotificationIdsInput!) { markNotifications%s(input: $input) { user { unreadCount } notifications { id readAt } } }`
	none := func([]string) map[string]any { return nil }
	some := func(ids []string) map[string]any {
		return map[string]any{"input": map[string]any{"ids": ids[:1+len(ids)/4]}}
	}
	return []kind{
		{55, pageQuery, `"endCursor":"`, func([]string) map[string]any { return map[string]any{"first": pageSize} }},
		{15, `{ viewer { unreadCount unseenCount countedAt } }`, `"unseenCount":`, none},
		{10, `{ viewer { account { displayName } settings { theme locale preferences { category channel enabled } } } }`, `"theme":`, none},
		{4, fmt.Sprintf(marking, "Read"), `"readAt":"`, some},
		{4, fmt.Sprintf(marking, "Unread"), `"readAt":null`, some},
		{2, `query ($ids: [String!]!) { users(userIds: $ids) ` + userFields + ` }`, `"endCursor":"`,
			func([]string) map[string]any { return map[string]any{"ids": together} }},
	}
}

// mixture returns sources of what a web app asks.
func (st *stage) mixture(ctx context.Context, s *server) (func(connection int) source, error) {
	users := st.sample(200)
	w, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	all := kinds(users[:10])
	exchanges := make([][]*exchange, len(all))
	for _, u := range users {
		ids, err := idsOf(w, u)
		if err != nil {
			return nil, err
		}
		for i, k := range all {
			request, err := postAs(u, []inbox.Scope{inbox.ScopeRead}, k.query, k.variables(ids))
			if err != nil {
				return nil, err
			}
			exchanges[i] = append(exchanges[i], &exchange{request, holds(k.holding)})
		}
	}
	dispatches, err := newDispatches(users)
	if err != nil {
		return nil, err
	}
	return func(connection int) source {
		dispatch := dispatches(connection)
		return func() *exchange {
			n := rand.IntN(100) //nolint:gosec // Which request is no secret.
			for i, k := range all {
				if n -= k.share; n < 0 {
					return exchanges[i][rand.IntN(len(exchanges[i]))] //nolint:gosec // As above.
				}
			}
			return dispatch()
		}
	}, nil
}

// idsOf returns the ids of the notifications on a user's page.
func idsOf(w *wire, user string) ([]string, error) {
	request, err := postAs(user, nil, pageQuery, map[string]any{"first": pageSize})
	if err != nil {
		return nil, err
	}
	body, err := w.do(request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Viewer struct{ Notifications shownConnection }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range answer.Data.Viewer.Notifications.Edges {
		ids = append(ids, e.Node.ID)
	}
	if len(ids) == 0 {
		return nil, errors.New("an empty page")
	}
	return ids, nil
}

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
	var after, growth []float64
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
	after = append(after, float64(end)/1e6)
	growth = append(growth, float64(end)/float64(half))
	name := fmt.Sprintf("resident memory after %d mixed requests", requests)
	b.measured(name, "%.0f MB", after, atMost(96), "")
	b.measured(name+", against half of them", ratio, growth, atMost(1.05), "")
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

// mixture returns sources of what a web app asks: of 100 requests, so many of each kind.
func (st *stage) mixture(ctx context.Context, s *server) (func(connection int) source, error) {
	users := st.sample(200)
	w, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var kinds [5][]*exchange
	add := func(kind int, user, query, holding string, variables map[string]any) error {
		request, err := postAs(user, []inbox.Scope{inbox.ScopeRead}, query, variables)
		kinds[kind] = append(kinds[kind], &exchange{request, holds(holding)})
		return err
	}
	for _, u := range users {
		if err := add(0, u, pageQuery, `"endCursor":"`, map[string]any{"first": pageSize}); err != nil {
			return nil, err
		}
		ids, err := idsOn(w, kinds[0][len(kinds[0])-1])
		if err != nil {
			return nil, err
		}
		one := map[string]any{"input": map[string]any{"ids": ids[:1+len(ids)/4]}}
		if err := errors.Join(
			add(1, u, `{ viewer { unreadCount unseenCount countedAt } }`, `"unseenCount":`, nil),
			add(2, u, `{ viewer { account { displayName } settings { theme locale preferences { category channel enabled } } } }`, `"theme":`, nil),
			add(3, u, `mutation ($input: NotificationIdsInput!) { markNotificationsRead(input: $input) { user { unreadCount } notifications { id readAt } } }`,
				`"readAt":"`, one),
			add(3, u, `mutation ($input: NotificationIdsInput!) { markNotificationsUnread(input: $input) { user { unreadCount } notifications { id readAt } } }`,
				`"readAt":null`, one),
			add(4, u, `query ($ids: [String!]!) { users(userIds: $ids) `+userFields+` }`, `"endCursor":"`, map[string]any{"ids": users[:10]}),
		); err != nil {
			return nil, err
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
			for kind, share := range [...]int{55, 15, 10, 8, 2} {
				if n -= share; n < 0 {
					return kinds[kind][rand.IntN(len(kinds[kind]))] //nolint:gosec // As above.
				}
			}
			return dispatch()
		}
	}, nil
}

// idsOn returns the ids of the notifications on a page.
func idsOn(w *wire, page *exchange) ([]string, error) {
	body, err := w.ask(page)
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

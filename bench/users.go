package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"belfry/inbox"
)

// userFields are what a list of users with their inboxes shows.
const userFields = `{
  userId
  account { displayName email avatarUrl createdAt }
  settings { theme locale timeZone emailDigest updatedAt preferences { category channel enabled } }
  unreadCount
  notifications(first: 20) {
    edges { cursor node { id kind category title body url createdAt readAt } }
    pageInfo { hasNextPage endCursor }
  }
}`

// hundredUsers compares 100 users in one request with 100 requests, one after the other on one connection.
func (b *bench) hundredUsers(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	s, err := st.startBelfry(ctx, nil)
	if err != nil {
		return err
	}
	defer s.stop()
	w, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	together, singles, err := userRequests()
	if err != nil {
		return err
	}
	var ratios, times []float64
	for round := range 5*b.rounds + 1 {
		inOne, inHundred, err := w.askUsers(together, singles)
		if err != nil {
			return err
		}
		if round > 0 { // the first warms up
			ratios = append(ratios, inOne.Seconds()/inHundred.Seconds())
			times = append(times, milliseconds(inOne))
		}
	}
	b.measured("100 users with account, settings, badge and the first 20, time against 100 requests", ratio, ratios, atMost(0.15),
		fmt.Sprintf("%.0f ms", middle(times)))
	return nil
}

// askUsers returns how long both ways take. Their answers must be the same.
func (w *wire) askUsers(together []byte, singles [][]byte) (inOne, inHundred time.Duration, err error) {
	began := time.Now()
	all, err := w.do(together)
	if err != nil {
		return 0, 0, err
	}
	inOne = time.Since(began)
	all = bytes.Clone(all)
	var list []byte
	began = time.Now()
	for _, request := range singles {
		body, err := w.do(request)
		if err != nil {
			return 0, 0, err
		}
		user := bytes.TrimSuffix(bytes.TrimPrefix(body, []byte(`{"data":{"user":`)), []byte(`}}`))
		list = append(append(list, user...), ',')
	}
	inHundred = time.Since(began)
	if want := fmt.Appendf(nil, `{"data":{"users":[%s]}}`, bytes.TrimSuffix(list, []byte(","))); !bytes.Equal(all, want) {
		err = errors.New("100 users in one request are not what they are one by one")
	}
	return inOne, inHundred, err
}

// userRequests returns the request for 100 users, and those for one each.
func userRequests() (together []byte, singles [][]byte, err error) {
	scopes := []inbox.Scope{inbox.ScopeRead}
	var ids []string
	for i := range inbox.MaxUsers {
		ids = append(ids, userName(i))
		request, err := postAs("backend", scopes, `query User($id: String!) { user(userId: $id) `+userFields+` }`, map[string]any{"id": userName(i)})
		if err != nil {
			return nil, nil, err
		}
		singles = append(singles, request)
	}
	together, err = postAs("backend", scopes, `query Users($ids: [String!]!) { users(userIds: $ids) `+userFields+` }`, map[string]any{"ids": ids})
	return together, singles, err
}

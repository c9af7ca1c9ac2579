package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"belfry/auth"
	"belfry/inbox"
)

// pageQuery is a page of a feed with the badge: what a bell asks when it is opened.
const pageQuery = `query Page($first: Int) {
  viewer {
    unreadCount
    notifications(first: $first) {
      edges { cursor node { id kind category title body url createdAt readAt } }
      pageInfo { hasNextPage endCursor }
    }
  }
}`

// pageSize is how many notifications the page has.
const pageSize = 20

// token returns a token of a user.
func token(user string, scopes ...inbox.Scope) (string, error) {
	now := time.Now()
	return auth.Sign([]byte(secret), auth.Claims{UserID: user, Scopes: scopes, IssuedAt: now, ExpiresAt: now.Add(24 * time.Hour)})
}

// post returns a GraphQL request as it goes over the wire, without a token where it is empty.
func post(token, query string, variables map[string]any) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	authorization := ""
	if token != "" {
		authorization = "Authorization: Bearer " + token + "\r\n"
	}
	return fmt.Appendf(nil, "POST /graphql HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"+
		"Content-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", authorization, len(body), body), nil
}

// postAs is post with a token of the user.
func postAs(user string, scopes []inbox.Scope, query string, variables map[string]any) ([]byte, error) {
	t, err := token(user, scopes...)
	if err != nil {
		return nil, err
	}
	return post(t, query, variables)
}

// get returns a request as it goes over the wire.
func get(path string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
}

// holds returns a check of an answer: no errors, and the text in it.
func holds(text string) func([]byte) bool {
	return func(body []byte) bool {
		return bytes.Contains(body, []byte(text)) && !bytes.Contains(body, []byte(`"errors":`))
	}
}

// anyOf returns a source of exchanges in an order of its own.
func anyOf(exchanges []*exchange) func(int) source {
	return func(connection int) source {
		order := rand.New(rand.NewPCG(uint64(connection), 1)) //nolint:gosec // The same order in each round.
		return func() *exchange { return exchanges[order.IntN(len(exchanges))] }
	}
}

// sample returns some of the stage's users, each once.
func (st *stage) sample(count int) []string {
	users := make([]string, min(count, st.users))
	for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(st.users)[:len(users)] { //nolint:gosec // The same in each run.
		users[i] = userName(n)
	}
	return users
}

const dispatchQuery = `mutation ($input: DispatchInput!) { dispatch(input: $input) { createdCount duplicateCount } }`

// runMark stands in a request of a dispatch for what makes it a new one.
const runMark = "run-0000000000000000"

// event returns the input of a dispatch.
func event(run string, recipients []string) map[string]any {
	return map[string]any{"input": map[string]any{
		"runId": run, "kind": "comment", "category": "reviews", "recipients": recipients, "actor": "user-1",
		"title": `Zoë Müller commented on "Release 12 & what follows"`, "body": "Looks good to me, but see line 40.",
		"url": "https://git.example.com/acme/repo-12/pull/345",
	}}
}

// newDispatches returns a source of dispatches, each of them new and to one of the users.
func newDispatches(users []string) (func(connection int) source, error) {
	var templates []*exchange
	var marks []int
	for _, u := range users {
		request, err := postAs("backend", []inbox.Scope{inbox.ScopeDispatch}, dispatchQuery, event(runMark, []string{u}))
		if err != nil {
			return nil, err
		}
		templates = append(templates, &exchange{request, holds(`"createdCount":1`)})
		marks = append(marks, strings.Index(string(request), runMark))
	}
	return func(connection int) source {
		// Of its own: sources of one template write into it.
		e, run := exchange{}, time.Now().UnixNano()*connections+int64(connection)
		return func() *exchange {
			i := rand.IntN(len(templates)) //nolint:gosec // Which user is no secret.
			run += connections
			e.request, e.isRight = append(e.request[:0], templates[i].request...), templates[i].isRight
			copy(e.request[marks[i]:], fmt.Appendf(nil, "run-%016x", uint64(run))[:len(runMark)]) //nolint:gosec // It is positive.
			return &e
		}
	}, nil
}

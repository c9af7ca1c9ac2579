package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"belfry/inbox"
)

// demoEvents holds real repository events with the names replaced, an event a line.
//
//go:embed testdata/github-events.jsonl
var demoEvents []byte

// demoEvent is a line of demoEvents.
type demoEvent struct {
	RunID      string   `json:"runId"`
	Event      string   `json:"event"`
	Category   string   `json:"category"`
	Actor      string   `json:"actor"`
	Recipients []string `json:"recipients"`
	Title      string   `json:"title"`
	URL        string   `json:"url"`
	OccurredAt *string  `json:"occurredAt"`
}

const (
	demoDispatch = `mutation ($input: DispatchInput!) { dispatch(input: $input) { results { status } userErrors { code message field } } }`
	demoAccount  = `mutation ($input: PutAccountInput!) { putAccount(input: $input) { userErrors { code message field } } }`
	demoDevice   = `mutation ($input: RegisterDeviceInput!) { registerDevice(input: $input) { userErrors { code message field } } }`
	demoUsers    = `query ($ids: [String!]!) { users(userIds: $ids) { userId account { displayName } } }`
)

// loadDemo does what a producer does: it dispatches the demo events over the API. They carry their run
// ids, so that a second start finds them dispatched.
func loadDemo(ctx context.Context, endpoint string, secret []byte) error {
	token, err := signToken(secret, "demo-backend", everyScope, time.Minute, "", "")
	if err != nil {
		return err
	}
	c := demoClient{endpoint, token}
	if err := registerPhone(ctx, endpoint, secret); err != nil {
		return fmt.Errorf("ada's phone: %w", err)
	}
	people := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(demoEvents))
	for lines.Scan() {
		var e demoEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		people[e.Actor] = true
		for _, r := range e.Recipients {
			people[r] = true
		}
		if err := c.dispatch(ctx, e); err != nil {
			return fmt.Errorf("event %s: %w", e.RunID, err)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return c.putAccounts(ctx, slices.Sorted(maps.Keys(people)))
}

// registerPhone gives ada a phone, to which the simulated push service brings what she is told.
func registerPhone(ctx context.Context, endpoint string, secret []byte) error {
	token, err := signToken(secret, "ada", "", time.Minute, "", "")
	if err != nil {
		return err
	}
	return demoClient{endpoint, token}.mutate(ctx, demoDevice, map[string]any{
		"provider": "EXPO", "token": "ExponentPushToken[adas-phone]", "platform": "IOS", "name": "Ada's phone",
		"deviceId": "demo-phone",
	})
}

// demoClient speaks to the API as any producer does.
type demoClient struct {
	endpoint, token string
}

func (c demoClient) dispatch(ctx context.Context, e demoEvent) error {
	input := map[string]any{
		"runId": e.RunID, "kind": e.Event, "category": e.Category, "actor": e.Actor, "recipients": e.Recipients,
		"title": e.Title, "url": e.URL, "occurredAt": e.OccurredAt,
	}
	return c.mutate(ctx, demoDispatch, input)
}

// putAccounts gives a name to everybody who has none: who has one may have changed it.
func (c demoClient) putAccounts(ctx context.Context, people []string) error {
	var answer struct {
		Users []struct {
			UserID  string
			Account *struct{ DisplayName string }
		}
	}
	if err := c.do(ctx, demoUsers, map[string]any{"ids": people}, &answer); err != nil {
		return err
	}
	for _, u := range answer.Users {
		if u.Account != nil {
			continue
		}
		input := map[string]any{
			"userId": u.UserID, "displayName": capitalised(u.UserID), "email": u.UserID + "@example.com",
		}
		if err := c.mutate(ctx, demoAccount, input); err != nil {
			return fmt.Errorf("account %s: %w", u.UserID, err)
		}
	}
	return nil
}

func capitalised(s string) string {
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// mutate runs a mutation with one input and turns its userErrors into an error.
func (c demoClient) mutate(ctx context.Context, query string, input any) error {
	var answer map[string]struct {
		UserErrors []struct {
			Code, Message string
			Field         []string
		}
	}
	if err := c.do(ctx, query, map[string]any{"input": input}, &answer); err != nil {
		return err
	}
	for _, payload := range answer {
		for _, e := range payload.UserErrors {
			if e.Code == string(inbox.IdempotencyConflict) {
				continue // an older Belfry has dispatched the event in other words
			}
			return fmt.Errorf("%s: %s", strings.Join(e.Field, "."), e.Message)
		}
	}
	return nil
}

func (c demoClient) do(ctx context.Context, query string, variables, data any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Data   any
		Errors []struct{ Message string }
	}{Data: data}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
	}
	if len(answer.Errors) > 0 {
		return errors.New(answer.Errors[0].Message)
	}
	return nil
}

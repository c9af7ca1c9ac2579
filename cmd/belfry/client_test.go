package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// testSecret is what the servers of these tests verify tokens with.
const testSecret = "0123456789abcdef0123456789abcdef"

// client speaks to a server as anybody would, over connections of its own.
type client struct {
	base, token string
	http        *http.Client
}

func newClient(t *testing.T, base, token string) *client {
	t.Helper()
	pool := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(pool.CloseIdleConnections)
	return &client{base, token, &http.Client{Transport: pool, Timeout: patience}}
}

// signed returns a token that the servers of these tests accept.
func signed(t *testing.T, user, scope string) string {
	t.Helper()
	token, err := signToken([]byte(testSecret), user, scope, time.Hour, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// answer is a response to a GraphQL request.
type answer struct {
	Status int `json:"-"`
	Data   json.RawMessage
	Errors []answerError
}

type answerError struct {
	Message    string
	Extensions struct{ Code string }
}

// Error makes an error of it, so that a caller can ask for the code.
func (e answerError) Error() string { return e.Extensions.Code + ": " + e.Message }

// ask sends a request; its error is one of the network.
func (c *client) ask(ctx context.Context, query string, variables any) (answer, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/graphql", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{Status: resp.StatusCode}
	if err := json.Unmarshal(text, &got); err != nil {
		return answer{}, fmt.Errorf("HTTP %d: %w: %s", resp.StatusCode, err, text)
	}
	return got, nil
}

// call is ask for a request that is to succeed: it decodes the data, and the first of the answer's errors
// is its error.
func (c *client) call(ctx context.Context, query string, variables, data any) error {
	got, err := c.ask(ctx, query, variables)
	if err != nil {
		return err
	}
	if len(got.Errors) > 0 {
		return got.Errors[0]
	}
	return json.Unmarshal(got.Data, data)
}

// must is call within a test that can't go on without.
func (c *client) must(t *testing.T, query string, variables, data any) {
	t.Helper()
	if err := c.call(t.Context(), query, variables, data); err != nil {
		t.Fatal(err)
	}
}

// get returns the status and body of a page beside the API.
func (c *client) get(ctx context.Context, path string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// result is what became of an event for one recipient.
type result struct{ Recipient, Status, NotificationID string }

// dispatch sends an event of a run to recipients.
func (c *client) dispatch(ctx context.Context, run string, recipients ...string) ([]result, error) {
	const query = `mutation ($input: DispatchInput!) { dispatch(input: $input) {
		results { recipient status notificationId } userErrors { message } } }`
	input := map[string]any{
		"runId": run, "kind": "test", "category": "tests", "title": "Something happened", "recipients": recipients,
	}
	var data struct{ Dispatch struct{ Results []result } }
	err := c.call(ctx, query, map[string]any{"input": input}, &data)
	return data.Dispatch.Results, err
}

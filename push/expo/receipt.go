package expo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"

	"belfry/push"
)

// Receipts implements push.Sender. An id of which Expo says nothing that is final, nothing at all among it,
// is left out. More than 300 are asked for in several requests; with an error come those of the requests
// before it.
func (c *Client) Receipts(ctx context.Context, tickets []string) (map[string]push.Receipt, error) {
	receipts := make(map[string]push.Receipt, len(tickets))
	for ids := range slices.Chunk(tickets, maxReceipts) {
		items, err := c.receipts(ctx, ids)
		if err != nil {
			return receipts, fmt.Errorf("expo receipts: %w", err)
		}
		for _, id := range ids {
			if it, ok := items[id]; ok && (it.status == "ok" || it.status == "error") {
				receipts[id] = receiptOf(it)
			}
		}
		c.alarm(maps.Values(items))
	}
	return receipts, nil
}

func receiptOf(it item) push.Receipt {
	if it.status == "ok" {
		return push.Receipt{Delivered: true}
	}
	r := push.Receipt{Error: it.code, Detail: detail(it.raw, it.token)}
	if r.Error == "" {
		r.Error = errNoCode
	}
	r.DisableDevice = r.Error == codeDeviceNotRegistered
	return r
}

// receipts asks for one request's worth. It says nothing of the answer's body but its code.
func (c *Client) receipts(ctx context.Context, ids []string) (map[string]item, error) {
	body, err := json.Marshal(map[string][]string{"ids": ids})
	if err != nil {
		return nil, err
	}
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answer, err := c.post(ctx, receiptsPath, body)
	<-c.turns
	if err != nil {
		return nil, err
	}
	refused, isRefusal := decodeRefusal(answer.body)
	if isUnauthorized(answer.status, refused) {
		c.config.Logger.Error("Expo refuses the access token: no receipts", "status", answer.status, "code", loggable(refused.code))
	}
	if answer.status != http.StatusOK || isRefusal {
		return nil, fmt.Errorf("HTTP %d: %w", answer.status, errors.New(loggable(refusedResult(refused, answer).Error)))
	}
	return decodeReceipts(answer.body)
}

// alarm logs what no retry and no other message can mend: somebody has to look after the project's
// credentials. Nothing is paused: they are of one platform, and the other's pushes go on.
func (c *Client) alarm(items iter.Seq[item]) {
	counts := map[string]int{}
	for it := range items {
		if it.code == codeMismatchSenderID || it.code == codeInvalidCredentials {
			counts[it.code]++
		}
	}
	for code, n := range counts {
		c.config.Logger.Error("the Expo project's credentials are not good: see its dashboard", "code", code, "messages", n)
	}
}

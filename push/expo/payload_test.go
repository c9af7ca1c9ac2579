package expo_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// sent returns a message as Expo gets it, nil where it gets none.
func sent(t *testing.T, m push.Message, change ...func(*expo.Config)) (fields map[string]any, size int, result push.Result) {
	t.Helper()
	client, rec := serve(t, exposim.New(exposim.Config{}), change...)
	result = first(t, client.Send(t.Context(), []push.Message{m}))
	if requests := rec.requests(); len(requests) == 1 {
		return requests[0].messages(t)[0], len(requests[0].body) - len("[]"), result
	}
	return nil, 0, result
}

func TestPayload(t *testing.T) {
	t.Parallel()
	m := push.Message{
		ID: "0198", Token: token("a"), Platform: "ios", Title: "Ana & <Bo>", Body: "a\"b\n…😀", URL: "https://example.com/1",
		Data: json.RawMessage(`{"order":7}`), NotificationID: "n1", Kind: "order.paid", Category: "orders", Badge: 0,
	}
	want := func(more map[string]any) map[string]any {
		fields := map[string]any{
			"to": token("a"), "title": "Ana & <Bo>", "body": "a\"b\n…😀", "badge": 0.0, "sound": "default", "priority": "high",
			"data": map[string]any{
				"notificationId": "n1", "url": "https://example.com/1", "kind": "order.paid", "category": "orders",
				"data": map[string]any{"order": 7.0},
			},
		}
		for name, value := range more {
			fields[name] = value
		}
		return fields
	}
	long := strings.Repeat("x", 65)
	tests := []struct {
		name, platform, id, channel string
		want                        map[string]any
	}{
		{"iOS", "ios", "0198", "", map[string]any{"collapseId": "0198"}},
		{"iOS, an id longer than Apple takes", "ios", long, "", map[string]any{"collapseId": fmt.Sprintf("%x", sha256.Sum256([]byte(long)))}},
		{"Android", "android", long, "", map[string]any{"tag": long}},
		{"unknown", "", "0198", "", map[string]any{"tag": "0198"}},
		{"channel", "android", "0198", "news", map[string]any{"tag": "0198", "channelId": "news"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := m
			m.Platform, m.ID = tt.platform, tt.id
			got, _, result := sent(t, m, func(c *expo.Config) { c.ChannelID = tt.channel })
			if !taken(result) {
				t.Errorf("result: %+v", result)
			}
			if diff := cmp.Diff(want(tt.want), got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// What is too long loses the end of its body, then the producer's data, and then is not sent.
func TestPayloadFits(t *testing.T) {
	t.Parallel()
	object := func(n int) json.RawMessage { return json.RawMessage(`{"x":"` + strings.Repeat("d", n) + `"}`) }
	tests := []struct {
		name        string
		title, body string
		data        json.RawMessage
		// wantBody is how many bytes of the body arrive at least, of the 4,096 there are.
		wantBody int
		wantData bool
		wantFit  bool
	}{
		{"short", "t", "b", object(1), 1, true, true},
		{"long body", "t", strings.Repeat("b", 5000), nil, 3500, false, true},
		{"long body and data", "t", strings.Repeat("b", 5000), object(2000), 1500, true, true},
		{"emoji", "t", strings.Repeat("😀", 1500), nil, 3500, false, true},
		{"accents", "t", "x" + strings.Repeat("é", 3000), nil, 3500, false, true},
		{"quotes", "t", strings.Repeat(`"`, 5000), nil, 1750, false, true},
		{"control characters", "t", strings.Repeat("\x01", 5000), nil, 580, false, true},
		{"angle brackets", "t", strings.Repeat("<", 5000), nil, 3500, false, true},
		{"invalid UTF-8", "t", strings.Repeat("\xff", 5000), nil, 580, false, true},
		{"long data", "t", strings.Repeat("b", 300), object(5000), 300, false, true},
		{"data that leaves a stump of a body", "t", strings.Repeat("b", 1000), object(3800), 1000, false, true},
		{"data that leaves little of a body", "t", strings.Repeat("b", 1000), object(3500), 300, true, true},
		{"a title that leaves room", strings.Repeat("t", 3000), strings.Repeat("b", 3000), object(2000), 500, false, true},
		{"a title that leaves none", strings.Repeat("t", 5000), "b", nil, 0, false, false},
		{"data that is no JSON", "t", "b", json.RawMessage(`{"x":`), 1, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := message("device")
			m.Title, m.Body, m.Data = tt.title, tt.body, tt.data
			fields, size, result := sent(t, m)
			if (fields != nil) != tt.wantFit || taken(result) != tt.wantFit || size > 4096 {
				t.Fatalf("%d bytes, %+v", size, result)
			}
			if !tt.wantFit {
				if result.Error != "MessageTooBig" || result.DisableDevice || result.Verdict != push.Failed {
					t.Errorf("%+v", result)
				}
				return
			}
			body, _ := fields["body"].(string)
			data, _ := fields["data"].(map[string]any)
			if len(body) < tt.wantBody || !utf8.ValidString(body) {
				t.Errorf("%d bytes of the body, want %d", len(body), tt.wantBody)
			}
			start, isCut := strings.CutSuffix(body, "…")
			if isCut == (len(tt.body) == len(body)) || !strings.HasPrefix(strings.ToValidUTF8(strings.ReplaceAll(tt.body, "\xff", "\ufffd"), ""), start) {
				t.Errorf("body %.50q... was cut to %.50q...", tt.body, body)
			}
			if (data["data"] != nil) != tt.wantData || data["notificationId"] != "n-device" {
				t.Errorf("data %.80v", data)
			}
		})
	}
}

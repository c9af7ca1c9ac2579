package webpush

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"belfry/push"
)

func TestPayload(t *testing.T) {
	t.Parallel()
	m := push.Message{
		ID: "0193a1b2", Token: "secret", Platform: "web", Title: "Ada <ada@example.org> & \"Bela\"", Body: "Hello 👩‍👩‍👧‍👦\nBye",
		URL: "https://example.org/?a=1&b=2", Data: json.RawMessage(`{ "a": ["<b>"] }`),
		NotificationID: "ntf_1", Kind: "comment.created", Category: "comments", Badge: 7,
	}
	const want = `{"title":"Ada <ada@example.org> & \"Bela\"","body":"Hello 👩‍👩‍👧‍👦\nBye","url":"https://example.org/?a=1&b=2",` +
		`"notificationId":"ntf_1","badge":7,"kind":"comment.created","category":"comments","data":{"a":["<b>"]}}`
	got, ok := encode(&m, maxPlaintext)
	if diff := cmp.Diff(want, string(got)); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bare, ok := encode(&push.Message{Title: "t", NotificationID: "n", Kind: "k", Category: "c", Data: json.RawMessage("\"\xff\"")}, maxPlaintext)
	const wantBare = `{"title":"t","notificationId":"n","badge":0,"kind":"k","category":"c"}`
	if diff := cmp.Diff(wantBare, string(bare)); !ok || diff != "" {
		t.Errorf("bare (-want +got):\n%s", diff)
	}
}

// What is cut is cut where a character starts, and no more of it than has to be.
func TestPayloadIsCutToSize(t *testing.T) {
	t.Parallel()
	type parts struct {
		Title, Body, URL string
		Data             json.RawMessage
	}
	data := json.RawMessage(`"` + strings.Repeat("d", 3000) + `"`)
	link := "https://example.org/" + strings.Repeat("u", 2028)
	tests := []struct {
		name  string
		in    parts
		limit int
		// want has the lengths of what is left, in bytes; an ellipsis has three.
		title, body, url, data int
	}{
		{"all fits", parts{Title: "t", Body: strings.Repeat("b", 3000)}, maxPlaintext, 1, 3000, 0, 0},
		{"to the byte", parts{Title: "t", Body: strings.Repeat("b", 3913)}, maxPlaintext, 1, 3913, 0, 0},
		{"a byte too much", parts{Title: "t", Body: strings.Repeat("b", 3914)}, maxPlaintext, 1, 3913, 0, 0},
		{"emoji", parts{Title: "t", Body: strings.Repeat("😀", 4000)}, maxPlaintext, 1, 4*977 + 3, 0, 0},
		{"escapes", parts{Title: "t", Body: strings.Repeat("\n", 16<<10)}, maxPlaintext, 1, 1955 + 3, 0, 0},
		{"body before data", parts{Title: "t", Body: strings.Repeat("b", 2000), Data: data}, maxPlaintext, 1, 903, 0, 3002},
		{"data before a short body", parts{Title: "t", Body: "b", Data: data}, mozillaPlaintext, 1, 1, 0, 0},
		{"data before the start of a body", parts{Title: "t", Body: strings.Repeat("b", 16<<10), URL: link, Data: data}, maxPlaintext, 1, 1856, 2048, 0},
		{"the title", parts{Title: strings.Repeat("t", 1024), Body: "b", URL: link}, mozillaPlaintext, 690, 0, 2048, 0},
		{"the URL", parts{Title: "t", URL: strings.Repeat(`"`, 2048)}, maxPlaintext, 1, 0, 0, 0},
	}
	for _, tt := range tests {
		m := push.Message{Title: tt.in.Title, Body: tt.in.Body, URL: tt.in.URL, Data: tt.in.Data, NotificationID: "n", Kind: "k", Category: "c"}
		text, ok := encode(&m, tt.limit)
		var got payload
		if err := json.Unmarshal(text, &got); !ok || err != nil {
			t.Errorf("%s: %t, %v", tt.name, ok, err)
			continue
		}
		lengths := []int{len(got.Title), len(got.Body), len(got.URL), len(got.Data)}
		if diff := cmp.Diff([]int{tt.title, tt.body, tt.url, tt.data}, lengths); diff != "" {
			t.Errorf("%s, %d bytes: title, body, URL, data (-want +got):\n%s", tt.name, len(text), diff)
		}
		if len(text) > tt.limit || strings.ContainsRune(string(text), utf8.RuneError) {
			t.Errorf("%s: %d bytes, or a character cut in two", tt.name, len(text))
		}
	}
	if _, ok := encode(&push.Message{Kind: strings.Repeat("k", maxPlaintext)}, maxPlaintext); ok {
		t.Error("a kind that does not fit was taken")
	}
}

func TestPlaintextLimit(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]int{
		"fcm.googleapis.com": 3993, "web.push.apple.com": 3993, "updates.push.services.mozilla.com": 2816, "Updates.Push.Services.Mozilla.com": 2816,
	} {
		if got := plaintextLimit(host); got != want {
			t.Errorf("%s: got %d, want %d", host, got, want)
		}
	}
}

// FuzzPayload holds that whatever there is comes out as JSON that fits and names the notification. The
// limit is a small one: small inputs then reach every step.
func FuzzPayload(f *testing.F) {
	const limit = 512
	f.Add("title", "body", "https://example.org", []byte(`{"a":1}`))
	f.Add(strings.Repeat("\u2028", 21), strings.Repeat("👩‍👩‍👧‍👦", 30), strings.Repeat(`\`, 300), []byte(`"`+strings.Repeat("x", 200)+`"`))
	f.Add("\xff\xfe", "\xf0\x9f", "", []byte(`{`))
	f.Fuzz(func(t *testing.T, title, body, link string, data []byte) {
		m := push.Message{
			Title: title[:min(len(title), 64)], Body: body, URL: link, Data: data, NotificationID: "ntf_1", Kind: "k", Category: "c",
		}
		text, ok := encode(&m, limit)
		var got payload
		err := json.Unmarshal(text, &got)
		if !ok || err != nil || len(text) > limit || !utf8.Valid(text) || got.NotificationID != "ntf_1" {
			t.Errorf("%t, %v, %d bytes of %d: %q", ok, err, len(text), limit, text)
		}
	})
}

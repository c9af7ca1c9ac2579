package webpush

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
	"unicode/utf8"

	"belfry/push"
)

// payload is what a service worker gets, as JSON.
type payload struct {
	Title          string          `json:"title"`
	Body           string          `json:"body,omitempty"`
	URL            string          `json:"url,omitempty"`
	NotificationID string          `json:"notificationId"`
	Badge          int32           `json:"badge"`
	Kind           string          `json:"kind"`
	Category       string          `json:"category"`
	Data           json.RawMessage `json:"data,omitempty"`
}

// minBody is as much of a body as is worth more than the data, in bytes: what a notification shows.
const minBody = 256

// mozillaPlaintext is the most that reaches Firefox on Android, in bytes: Mozilla hands its messages on
// to Google in base64 and refuses with 413 what then has over 4,096 bytes. An endpoint does not tell
// a phone from a desktop. See mozilla-services/autopush#748 and web-push-libs/web-push-php#108.
const mozillaPlaintext = 2816

// plaintextLimit returns the most bytes that a message to a host may hold.
func plaintextLimit(host string) int {
	if strings.HasSuffix(strings.ToLower(host), ".mozilla.com") {
		return mozillaPlaintext
	}
	return maxPlaintext
}

// encode returns a message as JSON of at most limit bytes, and false where even its names do not fit. What
// is too much goes in this order: the end of the body, the data, the rest of the body, the end of the
// title, the URL.
func encode(m *push.Message, limit int) ([]byte, bool) {
	p := payload{
		Title: m.Title, Body: m.Body, URL: m.URL, NotificationID: m.NotificationID,
		Badge: m.Badge, Kind: m.Kind, Category: m.Category,
	}
	// Raw JSON is written as it is, and a browser takes no broken UTF-8.
	if json.Valid(m.Data) && utf8.Valid(m.Data) {
		p.Data = m.Data
	}
	shrinks := []func(){
		func() {},
		func() { p.shorten(&p.Body, minBody, limit) },
		func() { p.Data = nil },
		func() { p.shorten(&p.Body, 0, limit) },
		func() { p.Body = "" },
		func() { p.shorten(&p.Title, 0, limit) },
		func() { p.URL = "" },
	}
	for _, shrink := range shrinks {
		shrink()
		if text := p.json(); len(text) <= limit {
			return text, true
		}
	}
	return nil, false
}

// shorten cuts a text of the payload, which is too large, to what fits. It leaves the text alone where
// less than least bytes would remain.
func (p *payload) shorten(text *string, least, limit int) {
	whole := *text
	// The first length that is too long; escapes make it hard to tell from the sizes alone.
	n := sort.Search(min(len(whole), limit), func(n int) bool {
		*text = cut(whole, n)
		return len(p.json()) > limit
	})
	*text = whole
	if n > least {
		*text = cut(whole, n-1)
	}
}

// cut returns the first n bytes of s or a little less, so that no character is cut in two, and an ellipsis.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func (p *payload) json() []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	// A browser parses this as JSON, and escapes would take six bytes each.
	encoder.SetEscapeHTML(false)
	// Strings, a number and JSON that is valid always encode, and a Buffer takes all.
	_ = encoder.Encode(p)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

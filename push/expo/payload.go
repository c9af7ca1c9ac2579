package expo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sort"
	"unicode/utf8"

	"belfry/push"
)

// payload is a message as Expo takes it.
type payload struct {
	To         string `json:"to"`
	Title      string `json:"title,omitempty"`
	Body       string `json:"body,omitempty"`
	Data       data   `json:"data"`
	Badge      int32  `json:"badge"`
	Sound      string `json:"sound"`
	Priority   string `json:"priority"`
	ChannelID  string `json:"channelId,omitempty"`
	CollapseID string `json:"collapseId,omitempty"`
	Tag        string `json:"tag,omitempty"`
}

// data is what an app finds in notification.request.content.data: what it needs to follow a tap and to mark
// the notification read, and under data what the producer sent with it, which is left out where there is no
// room for it.
type data struct {
	NotificationID string          `json:"notificationId"`
	URL            string          `json:"url,omitempty"`
	Kind           string          `json:"kind,omitempty"`
	Category       string          `json:"category,omitempty"`
	Data           json.RawMessage `json:"data,omitempty"`
}

const (
	// ellipsis ends a body that was shortened.
	ellipsis = "…"
	// minBody is how many bytes of a body are worth more than the producer's data.
	minBody = 120
	// maxCollapseID is Apple's limit, in bytes.
	maxCollapseID = 64
)

// encode writes a message, or returns false where it is too big even without the parts that can be spared.
// Expo allows 4,096 bytes to what it hands to Apple and Google, of which it wraps some around the message;
// so here the whole of the message counts, its token and field names among it.
func (c *Client) encode(m push.Message) ([]byte, bool) {
	p := payload{
		To: m.Token, Title: m.Title, Body: m.Body, Badge: m.Badge, Sound: "default", Priority: "high",
		ChannelID: c.config.ChannelID,
		Data:      data{NotificationID: m.NotificationID, URL: m.URL, Kind: m.Kind, Category: m.Category},
	}
	// Repeats of a message replace each other by its id. On iOS that is collapseId. On Android it is tag:
	// a collapseId is FCM's collapse key there, of which a device that is offline keeps four, so that the
	// fifth message would drop another. Where the platform is not known tag does no harm, for iOS ignores it.
	if m.Platform == "ios" {
		p.CollapseID = collapseID(m.ID)
	} else {
		p.Tag = m.ID
	}
	if len(m.Data) > 0 && json.Valid(m.Data) {
		p.Data.Data = m.Data
		if text, ok := shorten(p, minBody); ok {
			return text, true
		}
		p.Data.Data = nil
	}
	return shorten(p, 0)
}

// collapseID returns an id that Apple takes.
func collapseID(id string) string {
	if len(id) <= maxCollapseID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// shorten writes a payload with as much of its body as there is room for, which has to be keep bytes or all
// of it.
func shorten(p payload, keep int) ([]byte, bool) {
	text := marshal(p)
	if len(text) <= maxPayload {
		return text, true
	}
	body := p.Body
	// The body's bytes are written as up to six each, so the length that fits is searched for.
	tooMuch := sort.Search(len(body), func(n int) bool {
		p.Body = body[:n] + ellipsis
		return len(marshal(p)) > maxPayload
	})
	n := tooMuch - 1
	for n > 0 && !utf8.RuneStart(body[n]) {
		n--
	}
	if n < min(keep, len(body)) || n < 0 {
		return nil, false
	}
	p.Body = body[:n] + ellipsis
	if n == 0 {
		p.Body = ""
	}
	text = marshal(p)
	return text, len(text) <= maxPayload
}

func marshal(p payload) []byte {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false) // \u003c would take six bytes of the limit for one
	if err := encoder.Encode(p); err != nil {
		panic(err) // its one field that could be at fault was valid JSON
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

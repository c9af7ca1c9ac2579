package exposim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// maxBody is how much of a request's body is read, before and after it is unpacked.
const maxBody = 4 << 20

// message is a message as a client sends it. Fields that the simulator makes nothing of are there for their
// types to be checked.
type message struct {
	To                recipients      `json:"to"`
	Title             string          `json:"title"`
	Subtitle          string          `json:"subtitle"`
	Body              string          `json:"body"`
	Data              json.RawMessage `json:"data"`
	TTL               *float64        `json:"ttl"`
	Expiration        *float64        `json:"expiration"`
	Priority          string          `json:"priority"`
	Sound             json.RawMessage `json:"sound"`
	Badge             *int            `json:"badge"`
	InterruptionLevel string          `json:"interruptionLevel"`
	ChannelID         string          `json:"channelId"`
	Icon              string          `json:"icon"`
	RichContent       *struct {
		Image string `json:"image"`
	} `json:"richContent"`
	CategoryID       string `json:"categoryId"`
	CollapseID       string `json:"collapseId"`
	Tag              string `json:"tag"`
	MutableContent   bool   `json:"mutableContent"`
	ContentAvailable bool   `json:"_contentAvailable"`
}

// recipients is a token or an array of tokens.
type recipients struct {
	tokens []string
	isList bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *recipients) UnmarshalJSON(text []byte) error {
	if r.isList = text[0] == '['; r.isList {
		return json.Unmarshal(text, &r.tokens)
	}
	r.tokens = make([]string, 1)
	return json.Unmarshal(text, &r.tokens[0])
}

// uuidToken is what Expo's own SDK takes for the token of an old app: not only hexadecimal digits.
var uuidToken = regexp.MustCompile(`(?i)^[a-z\d]{8}-[a-z\d]{4}-[a-z\d]{4}-[a-z\d]{4}-[a-z\d]{12}$`)

func isToken(s string) bool {
	isNew := strings.HasPrefix(s, "ExponentPushToken[") || strings.HasPrefix(s, "ExpoPushToken[")
	return isNew && strings.HasSuffix(s, "]") || uuidToken.MatchString(s)
}

// check returns what is wrong with a message.
func (m *message) check() error {
	if m.To.tokens == nil {
		return errors.New(`"to" is required`)
	}
	for _, token := range m.To.tokens {
		if !isToken(token) {
			return errors.New(`"to" must be a valid Expo push token`)
		}
	}
	if data := bytes.TrimSpace(m.Data); len(data) > 0 && data[0] != '{' && string(data) != "null" {
		return errors.New(`"data" must be an object`)
	}
	if sound := bytes.TrimSpace(m.Sound); len(sound) > 0 && !slices.Contains([]byte(`"{n`), sound[0]) {
		return errors.New(`"sound" must be a string, an object or null`)
	}
	if !slices.Contains([]string{"", "default", "normal", "high"}, m.Priority) {
		return errors.New(`"priority" must be one of [default, normal, high]`)
	}
	if !slices.Contains([]string{"", "active", "critical", "passive", "time-sensitive"}, m.InterruptionLevel) {
		return errors.New(`"interruptionLevel" must be one of [active, critical, passive, time-sensitive]`)
	}
	if m.Badge != nil && *m.Badge < 0 {
		return errors.New(`"badge" must be greater than or equal to 0`)
	}
	if len(m.CollapseID) > 64 { // Apple's limit of an apns-collapse-id
		return errors.New(`"collapseId" must be at most 64 bytes`)
	}
	return nil
}

// size is what counts towards the limit of a payload. Expo does not say what it counts; these are the bytes
// that a device needs, so an emoji counts four.
func (m *message) size() int { return len(m.Title) + len(m.Subtitle) + len(m.Body) + len(m.Data) }

// decodeMessages reads one message or an array of them; isOne says that it was one.
func decodeMessages(body []byte) (messages []message, isOne bool, err error) {
	body = bytes.TrimSpace(body)
	if isOne = len(body) > 0 && body[0] == '{'; isOne {
		messages = make([]message, 1)
		err = json.Unmarshal(body, &messages[0])
	} else {
		messages = make([]message, 0, maxMessages)
		err = json.Unmarshal(body, &messages)
	}
	if err != nil {
		return nil, false, fmt.Errorf(`"value" must be a message or an array of messages: %w`, err)
	}
	for i := range messages {
		if err := messages[i].check(); err != nil {
			return nil, false, fmt.Errorf(`"[%d]": %w`, i, err)
		}
	}
	return messages, isOne, nil
}

// readBody reads a body, gzipped or not.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxBody))
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = io.LimitReader(unpacked, maxBody)
	default:
		return nil, fmt.Errorf("unsupported content encoding %q", encoding)
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(body)
	return buf.Bytes(), err
}

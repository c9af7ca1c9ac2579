package expo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Codes that Expo documents, and those of Belfry. Expo's are an open set: what is not here is kept as it came.
const (
	codeDeviceNotRegistered = "DeviceNotRegistered"
	codeMessageRateExceeded = "MessageRateExceeded"
	codeMessageTooBig       = "MessageTooBig"
	codeMismatchSenderID    = "MismatchSenderId"
	codeInvalidCredentials  = "InvalidCredentials"
	codeTooManyRequests     = "TOO_MANY_REQUESTS"
	codeTooManyProjects     = "PUSH_TOO_MANY_EXPERIENCE_IDS"
	codeUnauthorized        = "UNAUTHORIZED"

	errBadResponse    = "bad_response"
	errBusy           = "busy"
	errCanceled       = "canceled"
	errConnectionLost = "connection_lost"
	errNoCode         = "no_code"
	errNotSent        = "not_connected"
	errPaused         = "paused"
	errTicketMismatch = "ticket_mismatch"
	errTimeout        = "timeout"
	errUnknownStatus  = "unknown_status"
	errWrongProject   = "wrong_project"
)

// Bounds of what is kept of an answer, in bytes.
const (
	maxDetail = 1000
	maxCode   = 100
	maxTicket = 255
)

// item is a ticket or a receipt.
type item struct {
	status, id, code string
	// token is whom a ticket names as its recipient, "" for nobody.
	token string
	raw   json.RawMessage
}

// decodeItem reads a ticket or a receipt, leaving out what is not of the type that it should be.
func decodeItem(raw json.RawMessage) item {
	it := item{raw: raw}
	var fields struct {
		Status, ID, Details json.RawMessage
	}
	if json.Unmarshal(raw, &fields) != nil {
		return it
	}
	var details struct {
		Error, ExpoPushToken json.RawMessage
	}
	_ = json.Unmarshal(fields.Details, &details) // what is no object has no fields
	it.status, it.id = text(fields.Status), text(fields.ID)
	it.code, it.token = clip(text(details.Error), maxCode), text(details.ExpoPushToken)
	if len(it.id) > maxTicket {
		it.id = "" // it could not be asked for, and fits no column
	}
	return it
}

// text returns the string that a JSON value is, or "". Postgres takes no NUL.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // what is no string is left out
	return strings.ReplaceAll(s, "\x00", "")
}

// decodeTickets reads the answer to n messages: n items, or the code of what is wrong with it.
func decodeTickets(body []byte, n int) ([]item, string) {
	var answer struct {
		Data json.RawMessage
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil, errBadResponse
	}
	var list []json.RawMessage
	if n == 1 && bytes.HasPrefix(answer.Data, []byte("{")) {
		list = []json.RawMessage{answer.Data} // as Expo answers a message that is not in an array
	} else if json.Unmarshal(answer.Data, &list) != nil || list == nil {
		return nil, errBadResponse
	}
	if len(list) != n {
		return nil, errTicketMismatch
	}
	items := make([]item, n)
	for i, raw := range list {
		items[i] = decodeItem(raw)
	}
	return items, ""
}

// decodeReceipts reads an answer with receipts, by their ids.
func decodeReceipts(body []byte) (map[string]item, error) {
	var answer struct {
		Data map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", errBadResponse, err)
	}
	if answer.Data == nil {
		return nil, fmt.Errorf("%s: no data", errBadResponse)
	}
	items := make(map[string]item, len(answer.Data))
	for id, raw := range answer.Data {
		items[id] = decodeItem(raw)
	}
	return items, nil
}

// refusal is what the answer to a whole request says that is no data.
type refusal struct {
	// code is Expo's, or "" where it gave none.
	code string
	// projects has the tokens of each, with PUSH_TOO_MANY_EXPERIENCE_IDS.
	projects map[string][]string
}

// decodeRefusal reads {"errors":[...]}, of which the first counts as in Expo's own SDK, or the
// {"error":"invalid_token"} that is in front of it. It returns false where the answer holds neither.
func decodeRefusal(body []byte) (refusal, bool) {
	var answer struct {
		Errors, Error json.RawMessage
	}
	if json.Unmarshal(body, &answer) != nil {
		return refusal{}, false
	}
	if code := text(answer.Error); code != "" {
		return refusal{code: clip(code, maxCode)}, true
	}
	var list []json.RawMessage
	if json.Unmarshal(answer.Errors, &list) != nil || len(list) == 0 {
		return refusal{}, len(answer.Errors) > 0 && string(answer.Errors) != "null" && string(answer.Errors) != "[]"
	}
	var first struct {
		Code, Details json.RawMessage
	}
	_ = json.Unmarshal(list[0], &first) // what is no object has no fields
	r := refusal{code: clip(text(first.Code), maxCode)}
	_ = json.Unmarshal(first.Details, &r.projects) // other errors have other details
	return r, true
}

// tokenPattern matches the tokens of today. A UUID, the form of old ones, can be anything.
var tokenPattern = regexp.MustCompile(`Expo(nent)?PushToken\[[^\]]*\]?`)

// detail returns what is kept of an answer: the start of it, without tokens.
func detail(raw []byte, token string) string {
	s := strings.ToValidUTF8(string(raw[:min(len(raw), 8*maxDetail)]), "")
	if token != "" {
		s = strings.ReplaceAll(s, token, "[token]")
	}
	s = tokenPattern.ReplaceAllLiteralString(s, "[token]")
	return clip(strings.ReplaceAll(s, "\x00", ""), maxDetail)
}

// clip cuts a text at a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// loggable returns a code where it is one: an answer can hold anything in its place, a token among it.
func loggable(code string) string {
	if codePattern.MatchString(code) {
		return code
	}
	return "unprintable"
}

var codePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

package archive

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// good are lines of every type with every field, as an export writes them.
var good = []string{
	`{"type":"account","userId":"ada","email":"ada@example.com","displayName":"Ada \"A\" 🐣","avatarUrl":"https://example.com/a.png","createdAt":"2026-01-02T03:04:05.678901Z"}`,
	`{"type":"settings","userId":"ada","theme":"DARK","locale":"pt-BR","timeZone":"Europe/Berlin","emailDigest":"DAILY","preferences":[{"category":"ci","channel":"PUSH","enabled":false},{"category":"ci","channel":"EMAIL","enabled":true}],"updatedAt":"2026-01-02T03:04:05.678901Z"}`,
	`{"type":"seen","userId":"ada","through":"MjAyNi0wMS0wMlQwMzowNDowNS42Nzg5MDFafDAwMDAwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMQ","horizon":"019b7d1f-0000-7000-8000-000000000001"}`,
	`{"type":"device","id":"dev_AaIumCycfM6b1CmHYLtal2FkYQ","userId":"ada","provider":"EXPO","token":"ExponentPushToken[x]","platform":"IOS","deviceId":"phone","name":"Phone","createdAt":"2026-01-02T03:04:05.678901Z","lastSeenAt":"2026-01-02T03:04:05.678901Z","disabledAt":"2026-01-02T03:04:05.678901Z","disabledReason":"DeviceNotRegistered"}`,
	`{"type":"notification","id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2YWRh","userId":"ada","kind":"k:1","category":"ci","actor":"bela","title":"T","body":"a\nb\t<&>","url":"https://example.com","data":{"a":[1,2.50,null],"z":"<&>"},"createdAt":"2026-11-30T22:34:14.624260Z","readAt":"2026-11-30T22:34:15.000000Z","archivedAt":"2026-11-30T22:34:16.000000Z","claim":{"key":"notification:run%3A1:k%3A1:ada","contentHash":"` + strings.Repeat("0a", 32) + `","createdAt":"2026-01-02T03:04:05.678901Z"}}`,
	`{"type":"claim","userId":"ada","subjectId":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2YWRh","key":"notification:run:k:ada","contentHash":"` + strings.Repeat("0a", 32) + `","createdAt":"2026-01-02T03:04:05.678901Z"}`,
	`{"type":"item","userId":"ada","itemId":"1","title":"One","url":"https://example.com/1","data":[],"tags":["minutes","a \"b\""],"createdAt":"2026-01-02T03:04:05.678901Z"}`,
	`{"type":"pushDelivery","userId":"ada","notificationId":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2YWRh","deviceId":"dev_AaIumCycfM6b1CmHYLtal2FkYQ","id":"019b7d1f-0000-4000-8000-000000000001","provider":"EXPO","status":"RECEIPT_ERROR","error":"DeviceNotRegistered","detail":"gone","ticket":"t","createdAt":"2026-01-02T03:04:05.678901Z","sentAt":"2026-01-02T03:04:06.678901Z","settledAt":"2026-01-02T03:04:07.678901Z"}`,
}

// now is after all of them.
var now = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// What is read and written again is the same, byte for byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	activity := strings.NewReplacer(`"notification"`, `"activity"`, "ntf_", "act_").Replace(
		`{"type":"notification","id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2YWRh","userId":"ada","verb":"merged","object":"o","url":"https://example.com","data":0,"createdAt":"2026-11-30T22:34:14.624260Z","expiresAt":"2027-11-30T22:34:15.000000Z"}`)
	for _, line := range append(good, activity) {
		var s scanner
		record, err := s.decode(line, now)
		if err != nil {
			t.Errorf("%v: %s", err, line)
			continue
		}
		var b bytes.Buffer
		if err := NewEncoder(&b).Encode(record); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(line+"\n", b.String()); diff != "" {
			t.Errorf("line (-want +got):\n%s", diff)
		}
	}
}

// lineOf returns a line of a type with these members.
func lineOf(kind, members string) string { return `{"type":"` + kind + `",` + members + `}` }

// notificationLineOf returns a line that is good, with more after its last member.
func notificationLineOf(member string) string {
	return lineOf("notification", `"userId":"u","kind":"k","category":"c","title":"t"`+member)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	item := `"userId":"u","itemId":"i","title":"t",`
	tests := []struct {
		name, line, want string
	}{
		{"51 tags", lineOf("item", item+`"tags":["`+strings.Join(numbers(51), `","`)+`"]`), "tags: has 51 tags, at most 50 are allowed"},
		{"an empty tag", lineOf("item", item+`"tags":["a",""]`), "tags.1: a tag must not be empty"},
		{"a blank tag", lineOf("item", item+`"tags":[" \t"]`), "tags.0: a tag must not be empty"},
		{"a tag of 10 KB", lineOf("item", item+`"tags":["`+strings.Repeat("x", 10<<10)+`"]`), "tags.0: a tag has at most 64 characters"},
		{"no tags", lineOf("item", item+`"tags":[]`), "tags: at least one tag is required"},
		{"tags that are a text", lineOf("item", item+`"tags":"a"`), "tags: must be an array"},
		{"a tag that is a number", lineOf("item", item+`"tags":["a",7]`), "tags.1: must be a string"},

		{"not JSON", `hello`, "not JSON: byte 1 should be a value"},
		{"another JSON value", `[1]`, "must be an object"},
		{"empty", `{}`, "type: is required"},
		{"cut off in a name", `{"type":"notification","use`, "ends within its JSON: was the file cut off?"},
		{"cut off after a value", `{"type":"notification","userId":"u"`, "ends within its JSON: was the file cut off?"},
		{"cut off in an escape", `{"type":"notification","userId":"\u00`, "ends within its JSON: was the file cut off?"},
		{"cut off in data", `{"type":"notification","data":{"a":[1,2`, "ends within its JSON: was the file cut off?"},
		{"two objects", notificationLineOf("") + `{}`, "not JSON: byte 75 should be the end of the line"},
		{"a comma too many", notificationLineOf(","), "not JSON: byte 75 should be the name of a member"},
		{"no comma", notificationLineOf(` "body":""`), "not JSON: byte 75 should be a comma or a closing brace"},
		{"unknown type", lineOf("event", `"userId":"u"`), "type: must be one of account, activity, claim, device, item, notification, pushDelivery, seen, settings"},
		{"type twice", notificationLineOf(`,"type":"item"`), "type: is there twice"},
		{"unknown field", notificationLineOf(`,"colour":"red"`), "colour: there is no such field"},
		{"a field in other letters", notificationLineOf(`,"Body":""`), "Body: there is no such field"},
		{"a field with what a terminal obeys", notificationLineOf(`,"\u001b[2J":""`), `"\x1b[2J": there is no such field`},
		{"a field twice", notificationLineOf(`,"title":"u"`), "title: is there twice"},
		{"unknown field within", notificationLineOf(`,"claim":{"kez":""}`), "claim.kez: there is no such field"},
		{"a number for a text", notificationLineOf(`,"body":7`), "body: must be a string"},
		{"null for what must be there", lineOf("notification", `"userId":null`), "userId: must be a string"},
		{"not UTF-8", notificationLineOf(",\"body\":\"\xff\""), "is not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00", "is not UTF-8"},
		{"an escaped NUL", notificationLineOf(`,"body":"a\u0000"`), "body: must be UTF-8 without control characters"},
		{"a NUL", notificationLineOf(",\"body\":\"a\x00\""), "body: has a control character that is not escaped"},
		{"half a surrogate pair", notificationLineOf(`,"body":"\ud83d"`), "body: has half of a surrogate pair"},
		{"halves in the wrong order", notificationLineOf(`,"body":"\udc23\ud83d"`), "body: has half of a surrogate pair"},
		{"an unknown escape", notificationLineOf(`,"body":"\x"`), "not JSON: byte 84 should be what can be escaped"},
		{"bad digits", notificationLineOf(`,"body":"\u00zz"`), "not JSON: byte 85 should be four hexadecimal digits"},
		{"data that is no JSON", notificationLineOf(`,"data":{"a":tru}`), "data: is not JSON"},
		{"data with the wrong brackets", notificationLineOf(`,"data":[1}`), "data: is not JSON"},
		{"data of 4 KiB and more", notificationLineOf(`,"data":"` + strings.Repeat("x", 4<<10) + `"`), "data: must have at most 4096 bytes of JSON"},

		{"no user", lineOf("notification", `"kind":"k","category":"c","title":"t"`), "userId: a user id must not be empty"},
		{"several faults", lineOf("notification", `"userId":"u","kind":"","category":"c","title":"","url":"ftp://x"`),
			"kind: must not be empty; title: must not be empty; url: must be an absolute http or https URL"},
		{"a time without a zone", notificationLineOf(`,"createdAt":"2026-01-02T03:04:05"`),
			"createdAt: must be a time of RFC 3339 with its zone, such as 2026-11-30T17:34:47.517975Z"},
		{"a time that is a number", notificationLineOf(`,"createdAt":1767323045`), "createdAt: must be a string"},
		{"a time to come", notificationLineOf(`,"createdAt":"2026-12-02T00:00:01Z"`), "createdAt: must lie between 1970 and a day from now"},
		{"a time long past", notificationLineOf(`,"readAt":"1969-12-31T23:59:59Z"`), "readAt: must lie between 1970 and a day from now"},
		{"two keys", notificationLineOf(`,"runId":"1","idempotencyKey":"1"`), "idempotencyKey: runId and idempotencyKey exclude each other"},
		{"an id and a key", notificationLineOf(`,"runId":"1","id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2dQ"`), "id: id excludes runId and idempotencyKey"},
		{"another user's id", notificationLineOf(`,"id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2YWRh"`), "id: is not the user's"},
		{"an id of another kind", notificationLineOf(`,"id":"usr_dQ"`), "id: must be an id that begins with ntf_"},
		{"an id of another time", notificationLineOf(`,"id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2dQ","createdAt":"2026-01-01T00:00:00Z"`), "createdAt: is not that of the id"},
		{"a claim without an id", notificationLineOf(`,"claim":{}`), "claim: takes an id; a history has runId or idempotencyKey"},
		{"an empty claim", notificationLineOf(`,"id":"ntf_AAZhhgJvTAQBoi6YLN99VpmQmt08hUg2dQ","claim":{}`),
			"claim.key: must not be empty; claim.key: must begin with notification: or activity:; claim.contentHash: is required; claim.createdAt: must lie between 1970 and a day from now"},
		{"a short digest", lineOf("claim", `"userId":"u","contentHash":"0a"`), "contentHash: must be a SHA-256 in hex"},

		{"unknown theme", lineOf("settings", `"userId":"u","theme":"PINK"`), "theme: must be SYSTEM, LIGHT or DARK"},
		{"unknown digest", lineOf("settings", `"userId":"u","emailDigest":"HOURLY"`), "emailDigest: must be NEVER, DAILY or WEEKLY"},
		{"unknown zone", lineOf("settings", `"userId":"u","timeZone":"Local"`), "timeZone: must be an IANA time zone, such as Europe/Berlin"},
		{"a preference twice", lineOf("settings", `"userId":"u","preferences":[{"category":"c","channel":"PUSH","enabled":true},{"category":"c","channel":"PUSH","enabled":false}]`),
			"preferences.1: is there twice"},
		{"half a preference", lineOf("settings", `"userId":"u","preferences":[{"category":"c","channel":"PUSH"}]`), "preferences.0: enabled is required"},
		{"a preference that is neither", lineOf("settings", `"userId":"u","preferences":[{"enabled":"yes"}]`), "preferences.0.enabled: must be true or false"},
		{"an empty watermark", lineOf("seen", `"userId":"u"`), "through: must lie between 1970 and a day from now; horizon: is required"},
		{"a broken watermark", lineOf("seen", `"userId":"u","through":"x"`), "through: must be a cursor"},
		{"a device that is half off", strings.Replace(good[3], `,"disabledReason":"DeviceNotRegistered"`, "", 1), "disabledReason: disabledAt and disabledReason go together"},
		{"a device without an id", lineOf("device", `"userId":"u"`), "id: is required"},
		{"a delivery that is final and is not", strings.Replace(good[7], `,"settledAt":"2026-01-02T03:04:07.678901Z"`, "", 1), "settledAt: is there for a final status, and for no other"},
		{"a delivery in no state", strings.Replace(good[7], "RECEIPT_ERROR", "LOST", 1),
			"status: must be one of QUEUED, SENDING, SENT, DELIVERED, FAILED, RECEIPT_ERROR, UNKNOWN, SUPPRESSED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s scanner
			record, err := s.decode(tt.line, now)
			if err == nil {
				t.Fatalf("got %+v, want an error", record)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// numbers returns so many different texts.
func numbers(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	return texts
}

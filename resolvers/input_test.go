package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A bad event is refused as a whole, by a user error that names its field, and nothing is written.
func TestDispatchRefusesBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	many := make([]string, 10_001)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	long := strings.Repeat("x", 20_000)
	tests := []struct {
		name  string
		input map[string]any
		want  []userError
	}{
		{"neither runId nor idempotencyKey", map[string]any{"runId": nil}, invalid("runId")},
		{"both runId and idempotencyKey", map[string]any{"idempotencyKey": "k"}, invalid("idempotencyKey")},
		{"empty runId", map[string]any{"runId": ""}, invalid("runId")},
		{"runId of 257 bytes", map[string]any{"runId": long[:257]}, large("runId")},
		{"control character in runId", map[string]any{"runId": "a\x00b"}, invalid("runId")},
		{"idempotencyKey of 1,025 bytes", map[string]any{"runId": nil, "idempotencyKey": long[:1025]}, large("idempotencyKey")},
		{"no recipients", map[string]any{"recipients": []string{}}, invalid("recipients")},
		{"10,001 recipients", map[string]any{"recipients": many}, large("recipients")},
		{"empty recipient", map[string]any{"recipients": []string{"ada", ""}}, invalid("recipients.1")},
		{"recipient of 129 bytes", map[string]any{"recipients": []string{long[:129]}}, large("recipients.0")},
		{"control character in a recipient", map[string]any{"recipients": []string{"a\nb"}}, invalid("recipients.0")},
		{"empty kind", map[string]any{"kind": ""}, invalid("kind")},
		{"kind of 129 bytes", map[string]any{"kind": long[:129]}, large("kind")},
		{"blank category", map[string]any{"category": " "}, invalid("category")},
		{"control character in category", map[string]any{"category": "a\u0085b"}, invalid("category")},
		{"empty actor", map[string]any{"actor": ""}, invalid("actor")},
		{"empty title", map[string]any{"title": ""}, invalid("title")},
		{"title over 1 KB", map[string]any{"title": long[:1025]}, large("title")},
		{"line break in title", map[string]any{"title": "a\nb"}, invalid("title")},
		{"body over 16 KB", map[string]any{"body": long[:16<<10+1]}, large("body")},
		{"NUL in body", map[string]any{"body": "a\x00b"}, invalid("body")},
		{"data over 4 KiB", map[string]any{"data": map[string]any{"x": long[:4096]}}, large("data")},
		{"javascript URL", map[string]any{"url": "javascript:alert(1)"}, invalid("url")},
		{"javascript URL with a blank ahead", map[string]any{"url": " javascript:alert(1)"}, invalid("url")},
		{"relative URL", map[string]any{"url": "/a/b"}, invalid("url")},
		{"URL without a host", map[string]any{"url": "https:///a"}, invalid("url")},
		{"URL with a tab", map[string]any{"url": "https://a.example/\tb"}, invalid("url")},
		{"URL of 2,049 bytes", map[string]any{"url": "https://a.example/" + long[:2031]}, large("url")},
		{"occurredAt in the year 0", map[string]any{"occurredAt": "0000-01-01T00:00:00Z"}, invalid("occurredAt")},
		{"occurredAt in the year 9999", map[string]any{"occurredAt": "9999-12-31T23:59:59Z"}, invalid("occurredAt")},
		{"occurredAt in 1969", map[string]any{"occurredAt": "1969-12-31T23:59:59.999999Z"}, invalid("occurredAt")},
		{"several faults together", map[string]any{"title": "", "kind": ""},
			append(invalid("kind"), invalid("title")...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			input := map[string]any{"runId": "r", "kind": "k", "category": "c", "title": "t", "recipients": []string{"ada"}}
			for k, v := range tt.input {
				input[k] = v
			}
			var data dispatched
			a.must(backend(), dispatchMutation, map[string]any{"input": input}, &data)
			if data.Dispatch.Results != nil || data.Dispatch.CreatedCount != 0 {
				t.Errorf("results: got %+v, want null", data.Dispatch)
			}
			for i, e := range data.Dispatch.UserErrors {
				if e.Message == "" {
					t.Errorf("error %d has no message", i)
				}
				data.Dispatch.UserErrors[i].Message = ""
			}
			if diff := cmp.Diff(tt.want, data.Dispatch.UserErrors); diff != "" {
				t.Errorf("userErrors (-want +got):\n%s", diff)
			}
		})
	}
	var feed struct {
		Viewer struct{ UnreadCount int }
	}
	a.must(as("ada"), `{ viewer { unreadCount } }`, nil, &feed)
	if feed.Viewer.UnreadCount != 0 {
		t.Errorf("something was written: unreadCount %d", feed.Viewer.UnreadCount)
	}
}

func invalid(field string) []userError { return []userError{refused("INVALID", field)} }

func large(field string) []userError { return []userError{refused("TOO_LARGE", field)} }

func refused(code, field string) userError {
	return userError{Code: code, Field: append([]string{"input"}, strings.Split(field, ".")...)}
}

// What lies just inside the limits is taken.
func TestDispatchTakesTheLargestInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	long := strings.Repeat("x", 20_000)
	recipients := make([]string, 10_000)
	for i := range recipients {
		recipients[i] = fmt.Sprintf("%s%05d", long[:123], i)
	}
	var data dispatched
	a.statements.reset()
	a.must(backend(), dispatchMutation, map[string]any{"input": map[string]any{
		"idempotencyKey": strings.Repeat("k", 1024), "kind": long[:128], "category": long[:128], "recipients": append(recipients, recipients[0]),
		"actor": long[:128], "title": long[:1024], "body": "a\tb\r\n" + long[:16<<10-5], "url": "https://a.example/" + long[:2030],
		"data": map[string]any{"x": long[:4096-8]}, "occurredAt": "1970-01-01T00:00:00Z",
	}}, &data)
	if diff := cmp.Diff([]string{"Dispatch"}, a.statements.reset()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if data.Dispatch.CreatedCount != 10_000 || len(data.Dispatch.Results) != 10_000 {
		t.Errorf("created: got %d in %d results, want 10000; %v", data.Dispatch.CreatedCount, len(data.Dispatch.Results), data.Dispatch.UserErrors)
	}
	for i, r := range data.Dispatch.Results {
		if r.Recipient != recipients[i] {
			t.Fatalf("result %d: got %q, want %q", i, r.Recipient, recipients[i])
		}
	}
}

// Values come back as they were sent.
func TestDataComesBackAsSent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const sent = `{"<b>":"&\u2028","a":[1,1.50,123456789012345678901234567890,1e400,null,true],"nul":"\u0000","z":{"é":"😀"}}`
	body := `{"query":` + quoted(dispatchMutation) + `,"variables":{"input":{"runId":"r","kind":"k","category":"c","title":"<t> & \u2028","recipients":["ada"],"data":` + sent + `}}}`
	if got := a.send(withCaller(t, backend()), []byte(body)).Body.String(); !strings.Contains(got, "CREATED") {
		t.Fatal(got)
	}
	got := string(a.post(as("ada"), `{ viewer { notifications { nodes { title data } } } }`, nil))
	// What is sent as \u0000 is stored as text, in which the escape is as good as any.
	want := `{"data":{"viewer":{"notifications":{"nodes":[{"title":"<t> & ` + "\u2028" + `","data":{"<b>":"&\u2028","a":[1,1.50,123456789012345678901234567890,1e400,null,true],"nul":"\u0000","z":{"é":"😀"}}}]}}}}`
	if diff := cmp.Diff(canonical(t, want), canonical(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkingRefusesBadIDs(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.dispatch("ada", map[string]any{"runId": "r"})
	many := make([]string, 101)
	for i := range many {
		many[i] = id
	}
	tests := []struct {
		name string
		ids  []string
		want []userError
	}{
		{"none", []string{}, invalid("ids")},
		{"101", many, large("ids")},
		{"garbage", []string{id, "garbage"}, invalid("ids.1")},
		{"empty", []string{""}, invalid("ids.0")},
		{"of another type", []string{viewerID(a, "ada")}, invalid("ids.0")},
		{"1 MB", []string{strings.Repeat("A", 100_000)}, invalid("ids.0")},
	}
	for _, mutation := range []string{
		"markNotificationsRead", "markNotificationsUnread", "archiveNotifications", "unarchiveNotifications", "deleteNotifications",
	} {
		for _, tt := range tests {
			t.Run(mutation+"/"+tt.name, func(t *testing.T) {
				var data map[string]struct {
					UserErrors []userError
					User       struct{ UnreadCount int }
				}
				a.must(as("ada"), `mutation ($ids: [ID!]!) { `+mutation+`(input: {ids: $ids}) {
				  user { unreadCount } userErrors { code field } } }`, map[string]any{"ids": tt.ids}, &data)
				if diff := cmp.Diff(tt.want, data[mutation].UserErrors); diff != "" {
					t.Errorf("userErrors (-want +got):\n%s", diff)
				}
				if got := data[mutation].User.UnreadCount; got != 1 {
					t.Errorf("unreadCount: got %d, want 1", got)
				}
			})
		}
	}
	for _, mutation := range []string{"markAllNotificationsRead", "markNotificationsSeen"} {
		for throughID, code := range map[string]string{"garbage": "INVALID", a.dispatch("bela", map[string]any{"runId": "r"}): "NOT_FOUND"} {
			var data map[string]struct{ UserErrors []userError }
			a.must(as("ada"), `mutation ($id: ID) { `+mutation+`(input: {throughId: $id}) { userErrors { code field } } }`,
				map[string]any{"id": throughID}, &data)
			if diff := cmp.Diff([]userError{refused(code, "throughId")}, data[mutation].UserErrors); diff != "" {
				t.Errorf("%s: userErrors (-want +got):\n%s", mutation, diff)
			}
		}
	}
}

func TestSettingsRefuseBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const query = `mutation ($input: UpdateSettingsInput!) { updateSettings(input: $input) {
	  settings { theme } userErrors { code field } } }`
	for value, isGood := range map[string]bool{
		"pt-BR": true, "en": true, "zh-Hant-TW": true, "de-CH-1996": true, "en-u-ca-gregory": true, "es-419": true, "x": false,
		"": false, "e": false, "pt_BR": false, "en-": false, "english please": false, strings.Repeat("a", 65): false,
	} {
		checkSetting(t, a, query, "locale", value, isGood)
	}
	for value, isGood := range map[string]bool{
		"Europe/Berlin": true, "UTC": true, "America/Argentina/Ushuaia": true, "": false, "Local": false, "Mars/Base": false, "../etc/passwd": false,
	} {
		checkSetting(t, a, query, "timeZone", value, isGood)
	}
}

func checkSetting(t *testing.T, a *api, query, field, value string, isGood bool) {
	t.Helper()
	var data struct {
		UpdateSettings struct {
			Settings   *struct{ Theme string }
			UserErrors []userError
		}
	}
	a.must(as("ada"), query, map[string]any{"input": map[string]any{field: value}}, &data)
	var want []userError
	if !isGood {
		want = invalid(field)
	}
	if diff := cmp.Diff(want, append([]userError(nil), data.UpdateSettings.UserErrors...)); diff != "" || isGood != (data.UpdateSettings.Settings != nil) {
		t.Errorf("%s %q (-want +got):\n%s", field, value, diff)
	}
}

func TestAccountsRefuseBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tests := []struct {
		name  string
		input map[string]any
		want  []userError
	}{
		{"empty userId", map[string]any{"userId": ""}, invalid("userId")},
		{"userId of 129 bytes", map[string]any{"userId": strings.Repeat("x", 129)}, large("userId")},
		{"control character in userId", map[string]any{"userId": "a\x7fb"}, invalid("userId")},
		{"blank displayName", map[string]any{"displayName": "  "}, invalid("displayName")},
		{"displayName of 257 bytes", map[string]any{"displayName": strings.Repeat("x", 257)}, large("displayName")},
		{"email without @", map[string]any{"email": "ada.example.com"}, invalid("email")},
		{"email without a host", map[string]any{"email": "ada@"}, invalid("email")},
		{"ftp avatar", map[string]any{"avatarUrl": "ftp://a.example/b"}, invalid("avatarUrl")},
		{"createdAt in 9999", map[string]any{"createdAt": "9999-01-01T00:00:00Z"}, invalid("createdAt")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			input := map[string]any{"userId": "ada", "displayName": "Ada"}
			for k, v := range tt.input {
				input[k] = v
			}
			var data struct {
				PutAccount struct {
					User       *struct{ UserID string }
					UserErrors []userError
				}
			}
			a.must(backend(), putAccountMutation, map[string]any{"input": input}, &data)
			for i := range data.PutAccount.UserErrors {
				data.PutAccount.UserErrors[i].Message = ""
			}
			if diff := cmp.Diff(tt.want, data.PutAccount.UserErrors); diff != "" || data.PutAccount.User != nil {
				t.Errorf("userErrors (-want +got):\n%s\nuser: %v", diff, data.PutAccount.User)
			}
		})
	}
	if got := string(a.ask(as("ada"), `{ viewer { account { displayName } } }`, nil).Data); got != `{"viewer":{"account":null}}` {
		t.Errorf("something was written: %s", got)
	}
}

package inbox_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// The user agent's keys of RFC 8291, appendix A.
const (
	p256dh   = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	auth     = "BTBZMqHH6r4Tts7J_aSIgg"
	endpoint = "https://fcm.googleapis.com/fcm/send/abc:def"
)

func subscription(endpoint, p256dh, auth string) string {
	return fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":%q,"auth":%q}}`, endpoint, p256dh, auth)
}

// btoa writes a key as pages do that encode it by hand.
func btoa(t testing.TB, key string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func TestExpoTokens(t *testing.T) {
	t.Parallel()
	good := []string{
		"ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]",
		"ExpoPushToken[abc]",
		"ExponentPushToken[a-b_c.~!\\]",
		"F5741A13-BCDA-434B-A316-5DC0E6FFA94F",
		"zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz",
		"ExpoPushToken[" + strings.Repeat("a", 255-len("ExpoPushToken[]")) + "]",
	}
	for _, token := range good {
		in := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token}
		if errs := in.Check(); errs != nil {
			t.Errorf("%s: got %s, want it taken", token, errs[0].Message)
		}
		if got := in.CanonicalToken(); got != token {
			t.Errorf("canonical: got %s, want %s", got, token)
		}
	}
	bad := []string{
		// The SDK takes the first three.
		"ExponentPushToken[]", "ExponentPushToken[a b]", "ExponentPushToken[a]]",
		"ExponentPushToken[[a]", "ExponentPushToken[a][b]", "ExponentPushToken[ä]", "ExponentPushToken[a\n]",
		"exponentPushToken[a]", " ExponentPushToken[a]", "ExponentPushToken[a", "ExponentPushToken[a]\n",
		"F5741A13BCDA434BA3165DC0E6FFA94F", "F5741A13-BCDA-434B-A316-5DC0E6FFA94", "", "null", "123",
		"ExponentPushToken[ExponentPushToken[a]]",
		subscription(endpoint, p256dh, auth),
	}
	for _, token := range bad {
		errs := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token}.Check()
		want := []*inbox.UserError{{
			Code: inbox.Invalid, Message: "must be an Expo push token, such as ExponentPushToken[...]",
			Field: []string{"input", "token"},
		}}
		if diff := cmp.Diff(want, errs); diff != "" {
			t.Errorf("%q (-want +got):\n%s", token, diff)
		}
	}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	plain := subscription(endpoint, p256dh, auth)
	tests := []struct {
		name, token string
		want        bool
	}{
		{"as toJSON writes it", `{"endpoint":"` + endpoint + `","expirationTime":null,"keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`, true},
		{"expires", strings.Replace(plain, "{", `{"expirationTime":1,`, 1), true},
		{"another member", strings.Replace(plain, "{", `{"options":{"userVisibleOnly":true},`, 1), true},
		{"port", subscription("https://push.example.org:8443/x?a=b&c=d", p256dh, auth), true},
		{"4 KiB", subscription("https://push.example.org/"+strings.Repeat("x", 4096-len(subscription("https://push.example.org/", p256dh, auth))), p256dh, auth), true},

		{"empty", "", false},
		{"no JSON", endpoint, false},
		{"null", "null", false},
		{"list", "[" + plain + "]", false},
		{"two", plain + plain, false},
		{"no endpoint", subscription("", p256dh, auth), false},
		{"http", subscription("http://fcm.googleapis.com/x", p256dh, auth), false},
		{"relative", subscription("//fcm.googleapis.com/x", p256dh, auth), false},
		{"opaque", subscription("https:fcm.googleapis.com", p256dh, auth), false},
		{"no host", subscription("https:///x", p256dh, auth), false},
		{"no host but a port", subscription("https://:443/x", p256dh, auth), false},
		{"file", subscription("file:///etc/passwd", p256dh, auth), false},
		{"userinfo", subscription("https://fcm.googleapis.com@evil.example/x", p256dh, auth), false},
		{"empty userinfo", subscription("https://@evil.example/x", p256dh, auth), false},
		{"fragment", subscription(endpoint+"#x", p256dh, auth), false},
		{"blank", subscription(endpoint+" x", p256dh, auth), false},
		{"line break", subscription(endpoint+"\r\nx", p256dh, auth), false},
		{"NUL", `{"endpoint":"` + endpoint + `\u0000","keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`, false},
		{"other letters", subscription("https://fcm.googleapis.cöm/x", p256dh, auth), false},
		{"no keys", `{"endpoint":"` + endpoint + `"}`, false},
		{"keys of another type", `{"endpoint":"` + endpoint + `","keys":{"p256dh":1,"auth":2}}`, false},
		{"no base64", subscription(endpoint, "!"+p256dh[1:], auth), false},
		{"short key", subscription(endpoint, p256dh[:len(p256dh)-4], auth), false},
		{"compressed", subscription(endpoint, "AiVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx", auth), false},
		{"not on the curve", subscription(endpoint, p256dh[:len(p256dh)-2]+"w8", auth), false},
		{"infinity", subscription(endpoint, "AA", auth), false},
		{"short secret", subscription(endpoint, p256dh, auth[:20]), false},
		{"long secret", subscription(endpoint, p256dh, auth+"AA"), false},
		{"bits left over", subscription(endpoint, p256dh, auth[:21]+"h"), false},
	}
	for _, tt := range tests {
		in := inbox.DeviceInput{Provider: inbox.ProviderWebPush, Token: tt.token}
		if got := in.Check() == nil; got != tt.want {
			t.Errorf("%s: taken: got %t, want %t", tt.name, got, tt.want)
		}
		if !tt.want && in.CanonicalToken() != tt.token {
			t.Errorf("%s: a refused token was changed to %s", tt.name, in.CanonicalToken())
		}
	}
}

// One subscription is one token, however a page writes it: else each visit would add a device.
func TestCanonicalToken(t *testing.T) {
	t.Parallel()
	const address = "https://push.example.org/x?a=<b>&c=d"
	want := `{"endpoint":"` + address + `","keys":{"p256dh":"` + p256dh + `","auth":"` + auth + `"}}`
	for name, token := range map[string]string{
		"itself":        want,
		"blanks":        "\n{ \"endpoint\" : \"" + address + "\" ,\t\"keys\" : { \"p256dh\" : \"" + p256dh + "\" , \"auth\" : \"" + auth + "\" } } ",
		"other order":   `{"keys":{"auth":"` + auth + `","p256dh":"` + p256dh + `"},"endpoint":"` + address + `"}`,
		"more members":  strings.Replace(want, "{", `{"expirationTime":1764524087517,"x":[1],`, 1),
		"escapes":       strings.NewReplacer("<", `\u003c`, "&", `\u0026`, "/", `\/`).Replace(`{"endpoint":"`+address+`"`) + want[len(`{"endpoint":"`+address+`"`):],
		"padding":       subscription(address, p256dh+"=", auth+"=="),
		"btoa":          subscription(address, btoa(t, p256dh), btoa(t, auth)),
		"invalid UTF-8": strings.Replace(want, "{", "{\"x\":\"\xff\",", 1),
	} {
		in := inbox.DeviceInput{Provider: inbox.ProviderWebPush, Token: token}
		if errs := in.Check(); errs != nil {
			t.Errorf("%s: %s", name, errs[0].Message)
		}
		if diff := cmp.Diff(want, in.CanonicalToken()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDeviceErrorsNameTheField(t *testing.T) {
	t.Parallel()
	expo := func(id, name *string) inbox.DeviceInput {
		return inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: "ExpoPushToken[a]", InstallationID: id, Name: name}
	}
	long := ptr(strings.Repeat("x", 129))
	tests := []struct {
		name string
		in   inbox.DeviceInput
		want []*inbox.UserError
	}{
		{"good", expo(ptr(strings.Repeat("x", 128)), ptr(strings.Repeat("ü", 64))), nil},
		{"long", expo(long, long), []*inbox.UserError{
			{Code: inbox.TooLarge, Message: "must have at most 128 bytes", Field: []string{"input", "deviceId"}},
			{Code: inbox.TooLarge, Message: "must have at most 128 bytes", Field: []string{"input", "name"}},
		}},
		{"empty", expo(ptr(""), ptr("")), []*inbox.UserError{
			{Code: inbox.Invalid, Message: "must not be empty", Field: []string{"input", "deviceId"}},
			{Code: inbox.Invalid, Message: "must not be empty", Field: []string{"input", "name"}},
		}},
		{"long Expo token", inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: strings.Repeat("x", 256)}, []*inbox.UserError{
			{Code: inbox.TooLarge, Message: "must have at most 255 bytes", Field: []string{"input", "token"}},
		}},
		{"long subscription", inbox.DeviceInput{Provider: inbox.ProviderWebPush, Token: strings.Repeat(" ", 4097)}, []*inbox.UserError{
			{Code: inbox.TooLarge, Message: "must have at most 4096 bytes", Field: []string{"input", "token"}},
		}},
		{"no provider", inbox.DeviceInput{Token: "ExpoPushToken[a]"}, []*inbox.UserError{
			{Code: inbox.Invalid, Message: "must be a known provider", Field: []string{"input", "provider"}},
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.in.Check()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzDeviceToken holds that a token that is taken has one canonical form, which is taken too, is its own
// and is no longer than what was sent.
func FuzzDeviceToken(f *testing.F) {
	f.Add(subscription(endpoint, p256dh, auth), true)
	f.Add(subscription(`https://x/"\<>&`, p256dh+"=", auth+"=="), true)
	f.Add("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", false)
	f.Add("zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", false)
	f.Fuzz(func(t *testing.T, token string, isWebPush bool) {
		in := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token}
		if isWebPush {
			in.Provider = inbox.ProviderWebPush
		}
		if in.Check() != nil {
			return
		}
		once := in.CanonicalToken()
		if len(once) > len(token) {
			t.Errorf("%d bytes grew to %d", len(token), len(once))
		}
		in.Token = once
		if errs := in.Check(); errs != nil {
			t.Errorf("the canonical form of %q is refused: %s", token, errs[0].Message)
		}
		if twice := in.CanonicalToken(); twice != once {
			t.Errorf("got %q, then %q", once, twice)
		}
	})
}

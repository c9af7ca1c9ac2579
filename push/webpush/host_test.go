package webpush

import (
	"net/url"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	t.Parallel()
	own := []string{"push.example.org", "*.example.net:8443", "Ntfy.Example.com:444"}
	tests := []struct {
		patterns []string
		endpoint string
		want     bool
	}{
		{DefaultHosts(), "https://fcm.googleapis.com/fcm/send/x", true},
		{DefaultHosts(), "https://fcm.googleapis.com:443/fcm/send/x", true},
		{DefaultHosts(), "https://FCM.GoogleAPIs.com/fcm/send/x", true},
		{DefaultHosts(), "https://updates.push.services.mozilla.com/wpush/v2/x", true},
		{DefaultHosts(), "https://web.push.apple.com/x", true},
		{DefaultHosts(), "https://db5p.notify.windows.com/w/?token=x", true},

		{DefaultHosts(), "http://fcm.googleapis.com/x", false},
		{DefaultHosts(), "ftp://fcm.googleapis.com/x", false},
		{DefaultHosts(), "https://fcm.googleapis.com:8443/x", false},
		{DefaultHosts(), "https://fcm.googleapis.com:22/x", false},
		{DefaultHosts(), "https://fcm.googleapis.com.:443/x", false},
		{DefaultHosts(), "https://fcm.googleapis.com@evil.example/x", false},
		{DefaultHosts(), "https://ada@fcm.googleapis.com/x", false},
		{DefaultHosts(), "https://fcm.googleapis.com.evil.example/x", false},
		{DefaultHosts(), "https://evil.example/fcm.googleapis.com", false},
		{DefaultHosts(), "https://evilpush.apple.com/x", false},
		{DefaultHosts(), "https://push.apple.com/x", false},
		{DefaultHosts(), "https://storage.googleapis.com/x", false},
		{DefaultHosts(), "https://127.0.0.1/x", false},
		{DefaultHosts(), "https://2130706433/x", false},
		{DefaultHosts(), "https://0x7f.1/x", false},
		{DefaultHosts(), "https://[::1]/x", false},
		{DefaultHosts(), "https://[::ffff:127.0.0.1]/x", false},
		{DefaultHosts(), "https://169.254.169.254/latest/meta-data/", false},
		{DefaultHosts(), "https://10.0.0.1/x", false},
		{DefaultHosts(), "https://localhost/x", false},

		{own, "https://push.example.org/x", true},
		{own, "https://a.b.example.net:8443/x", true},
		{own, "https://ntfy.example.com:444/x", true},
		{own, "https://a.example.net/x", false},
		{own, "https://example.net:8443/x", false},
		{own, "https://.example.net:8443/x", false},
		{own, "https://ntfy.example.com/x", false},
		{own, "https://fcm.googleapis.com/x", false},
	}
	for _, tt := range tests {
		list, err := parseHosts(tt.patterns)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(tt.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := list.allow(u); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.endpoint, got, tt.want)
		}
	}
}

func TestHostPatterns(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "*", "*.", "*.com", "*:443", "**.example.org", "a.*.example.org", "*example.org", "https://example.org",
		"example.org/x", "example.org:", "example.org:https", "example.org:443443", "-a.example.org", "a..org", "a.org.", "ü.org",
		"example.org\n", "[::1]",
	} {
		if _, err := parseHosts([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"https://fcm.googleapis.com/fcm/send/x":     "https://fcm.googleapis.com",
		"https://FCM.googleapis.com:443/fcm/send/x": "https://fcm.googleapis.com",
		"https://push.example.org:8443/x?y":         "https://push.example.org:8443",
	} {
		u, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := origin(u); got != want {
			t.Errorf("%s: got %s, want %s", endpoint, got, want)
		}
	}
}

package auth

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestOpenRefuses(t *testing.T) {
	const url = "https://issuer.example/keys"
	tests := []struct {
		name string
		cfg  Config
		want []string
	}{
		{"nothing", Config{}, []string{"exactly one"}},
		{"both", Config{Secret: testSecret, JWKSURL: url}, []string{"exactly one"}},
		{"short secret", Config{Secret: testSecret[:31]}, []string{"31 bytes"}},
		{"negative leeway", Config{Secret: testSecret, Leeway: -1}, []string{"leeway"}},
		{"long leeway", Config{Secret: testSecret, Leeway: time.Hour}, []string{"leeway"}},
		{"several", Config{Secret: testSecret[:31], JWKSURL: "x", Leeway: -1}, []string{"exactly one", "31 bytes", "JWKS URL", "leeway"}},
		{"http", Config{JWKSURL: "http://issuer.example/keys"}, []string{"must be https"}},
		{"http to a name like this machine's", Config{JWKSURL: "http://localhost.example/keys"}, []string{"must be https"}},
		{"http to the network", Config{JWKSURL: "http://10.0.0.1/keys"}, []string{"must be https"}},
		{"file", Config{JWKSURL: "file:///etc/keys"}, []string{"not a URL with a host"}},
		{"ftp", Config{JWKSURL: "ftp://issuer.example/keys"}, []string{"must be https"}},
		{"no scheme", Config{JWKSURL: "issuer.example/keys"}, []string{"not a URL with a host"}},
		{"password", Config{JWKSURL: "https://ann:hidden@issuer.example/keys"}, []string{"user name or password"}},
		{"bad escape", Config{JWKSURL: "https://issuer.example/%hidden"}, []string{"not a URL with a host"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(t.Context(), tt.cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want %q in it", err, want)
				}
			}
			if strings.Contains(err.Error(), string(testSecret[:31])) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error shows a secret: %q", err)
			}
		})
	}
}

func TestValidateJWKSURLAccepts(t *testing.T) {
	for _, url := range []string{
		"https://issuer.example/keys?tenant=a",
		"http://localhost:8080/keys",
		"http://127.0.0.1/keys",
		"http://127.1.2.3/keys",
		"http://[::1]:8080/keys",
	} {
		if err := validateJWKSURL(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

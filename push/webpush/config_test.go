package webpush

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestNewReportsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Subject: "ops@example.org", PublicKey: "x", PrivateKey: "y", TTL: -1, Urgency: "soon",
		AllowedHosts: []string{"*"}, Timeout: -1,
	})
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{"subject", "TTL", "urgency", "timeout", "logger", "VAPID", "host"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in: %v", want, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	publicKey, privateKey, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Subject: testSubject, PublicKey: publicKey, PrivateKey: privateKey, Logger: slog.New(slog.DiscardHandler)})
	if c.ttl != 24*time.Hour || c.urgency != Normal || c.timeout != 10*time.Second || cap(c.slots) != 20 || len(c.hosts) != 4 {
		t.Errorf("got %s, %s, %s, %d, %v", c.ttl, c.urgency, c.timeout, cap(c.slots), c.hosts)
	}
	// What the environment calls a proxy would be dialled in place of the push service.
	if c.transport.Proxy != nil {
		t.Error("goes through a proxy")
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]bool{
		"mailto:ops@example.org": true, "https://example.org": true, "https://example.org/contact": true,
		"": false, "ops@example.org": false, "mailto:": false, "mailto:ops": false, "mailto:@example.org": false,
		"http://example.org": false, "https://": false, "mailto:ops@example.org\n": false,
	} {
		if got := isSubject(subject); got != want {
			t.Errorf("%q: got %t, want %t", subject, got, want)
		}
	}
}

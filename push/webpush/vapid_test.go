package webpush

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestGeneratedKeysAreTaken(t *testing.T) {
	t.Parallel()
	publicKey, privateKey, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(decode(t, publicKey)), 65; got != want {
		t.Errorf("public key: got %d bytes, want %d", got, want)
	}
	if got, want := len(decode(t, privateKey)), 32; got != want {
		t.Errorf("private key: got %d bytes, want %d", got, want)
	}
	if _, err := parseKeys(publicKey, privateKey); err != nil {
		t.Error(err)
	}
}

func TestParseKeysNeverTellsThem(t *testing.T) {
	t.Parallel()
	publicKey, privateKey, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	otherPublic, _, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	zero := base64url.EncodeToString(make([]byte, 32))
	for name, pair := range map[string][2]string{
		"none": {"", ""}, "swapped": {privateKey, publicKey}, "strangers": {otherPublic, privateKey},
		"padded": {publicKey, privateKey + "="}, "short": {publicKey, privateKey[:40]}, "zero": {publicKey, zero},
		"not base64": {publicKey, "!" + privateKey[1:]}, "no public key": {"", privateKey},
	} {
		_, err := parseKeys(pair[0], pair[1])
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		for _, secret := range []string{publicKey, privateKey[1:40]} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error tells a key", name)
			}
		}
	}
}

func TestTokensAreUsedAgainForAnHour(t *testing.T) {
	t.Parallel()
	publicKey, privateKey, err := GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	key, err := parseKeys(publicKey, privateKey)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{key: key, publicKey: publicKey, subject: testSubject}
	header := func(origin string, at time.Time) string {
		t.Helper()
		h, err := s.authorization(origin, at)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	now := time.Now()
	first := header("https://a.example", now)
	if header("https://a.example", now.Add(tokenReused-1)) != first {
		t.Error("signed again within the hour")
	}
	if header("https://b.example", now) == first {
		t.Error("two origins share a token")
	}
	if header("https://a.example", now.Add(tokenReused)) == first {
		t.Error("still used after an hour")
	}
	for i := range 3 * maxTokens {
		header("https://"+strconv.Itoa(i)+".example", now)
	}
	if got := len(s.tokens); got > maxTokens {
		t.Errorf("keeps %d tokens, at most %d", got, maxTokens)
	}
	if err := (&service{publicKey: publicKey}).verify(first, "https://a.example"); err != nil {
		t.Error(err)
	}
	if err := (&service{publicKey: publicKey}).verify(first, "https://b.example"); err == nil {
		t.Error("good for another origin")
	}
}

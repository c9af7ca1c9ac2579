package webpush

import (
	"bytes"
	"crypto/ecdh"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

func decode(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64url.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The example of RFC 8291, section 5, whose keys appendix A gives.
func TestSealIsTheStandards(t *testing.T) {
	t.Parallel()
	sender, err := ecdh.P256().NewPrivateKey(decode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := ecdh.P256().NewPrivateKey(decode(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	to := inbox.Subscription{PublicKey: receiver.PublicKey(), Auth: decode(t, "BTBZMqHH6r4Tts7J_aSIgg")}
	plaintext := []byte("When I grow up, I want to be a watermelon")
	got, err := seal(plaintext, len(plaintext), to, sender, [16]byte(decode(t, "DGv6ra1nlYgDCS1FRnbzlw")))
	if err != nil {
		t.Fatal(err)
	}
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A" +
		"_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if diff := cmp.Diff(want, base64url.EncodeToString(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncryptPadsInSteps(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	for size, want := range map[int]int{0: 0, 1: 256, 256: 256, 257: 512, 2816: 2816, 3992: 3993, 3993: 3993} {
		plaintext := bytes.Repeat([]byte("x"), size)
		body, err := encrypt(plaintext, b.subscription(""))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(body) - overhead; got != want {
			t.Errorf("%d bytes: padded to %d, want %d", size, got, want)
		}
		if got, err := b.decrypt(body); err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("%d bytes: decrypted to %d bytes, %v", size, len(got), err)
		}
	}
	if maxPlaintext != 3993 {
		t.Errorf("got %d bytes of plaintext, want 3993", maxPlaintext)
	}
}

// Key and nonce come from salt and sender's key, so that these must be new each time.
func TestEncryptNeverRepeats(t *testing.T) {
	t.Parallel()
	to := newBrowser(t).subscription("")
	seen := map[string]bool{}
	for range 20 {
		body, err := encrypt([]byte("x"), to)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range [][]byte{body[:16], body[21:86]} {
			if seen[string(part)] {
				t.Errorf("%x is used again", part)
			}
			seen[string(part)] = true
		}
	}
}

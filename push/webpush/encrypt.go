package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"belfry/inbox"
)

const (
	// maxBody is what every push service has to take (RFC 8030, section 7.2), in bytes. It is the record
	// size as well: a message is one record (RFC 8291, section 4).
	maxBody = 4096
	saltLen = 16
	keyLen  = 65
	// overhead is what encryption adds: salt, record size, the key with its length, a delimiter and the tag.
	overhead = saltLen + 4 + 1 + keyLen + 1 + 16
	// maxPlaintext is the most that one message holds, in bytes.
	maxPlaintext = maxBody - overhead
	// padTo is the step in which messages grow, so that a push service learns little from their size.
	// Padding to the full 4,096 bytes makes Mozilla refuse what is meant for Firefox on Android.
	padTo = 256
)

// encrypt seals plaintext, at most maxPlaintext bytes, for a subscription.
func encrypt(plaintext []byte, to inbox.Subscription) ([]byte, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	var salt [saltLen]byte
	// It never fails.
	_, _ = rand.Read(salt[:])
	padded := min((len(plaintext)+padTo-1)/padTo*padTo, maxPlaintext)
	return seal(plaintext, padded, to, key, salt)
}

// seal makes the body of a request: the header of RFC 8188, section 2.1, and one record that is padded as
// if it held that many bytes. A key and a salt that have been used once must never be used again.
func seal(plaintext []byte, padded int, to inbox.Subscription, key *ecdh.PrivateKey, salt [saltLen]byte) ([]byte, error) {
	aead, nonce, err := recordKey(to, key, salt)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	body := make([]byte, 0, overhead+padded)
	body = append(body, salt[:]...)
	body = binary.BigEndian.AppendUint32(body, maxBody)
	body = append(body, keyLen)
	body = append(body, key.PublicKey().Bytes()...)

	record := make([]byte, padded+1)
	// The delimiter of the last record; what follows is zero.
	record[copy(record, plaintext)] = 2
	return aead.Seal(body, nonce, record, nil), nil
}

// recordKey derives what one message is encrypted with (RFC 8291, section 3.4).
func recordKey(to inbox.Subscription, key *ecdh.PrivateKey, salt [saltLen]byte) (cipher.AEAD, []byte, error) {
	shared, err := key.ECDH(to.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	info := "WebPush: info\x00" + string(to.PublicKey.Bytes()) + string(key.PublicKey().Bytes())
	secret, err := hkdf.Key(sha256.New, shared, to.Auth, info, 32)
	if err != nil {
		return nil, nil, err
	}
	contentKey, err := hkdf.Key(sha256.New, secret, salt[:], "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, nil, err
	}
	nonce, err := hkdf.Key(sha256.New, secret, salt[:], "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(contentKey)
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCM(block)
	return aead, nonce, err
}

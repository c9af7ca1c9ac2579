package webpush

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"belfry/inbox"
)

// browser is the far end of a subscription: RFC 8291 as the receiver has it, of one record.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t testing.TB) browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := make([]byte, 16)
	_, _ = rand.Read(auth)
	return browser{key, auth}
}

func (b browser) subscription(endpoint string) inbox.Subscription {
	return inbox.Subscription{Endpoint: endpoint, PublicKey: b.key.PublicKey(), Auth: b.auth}
}

func (b browser) decrypt(body []byte) ([]byte, error) {
	if len(body) < 21+65 || len(body) > 4096 {
		return nil, errors.New("no message")
	}
	salt, recordSize, public, record := body[:16], binary.BigEndian.Uint32(body[16:]), body[21:21+65], body[21+65:]
	if int(recordSize) < len(record) || body[20] != 65 {
		return nil, errors.New("not one record with a key")
	}
	sender, err := ecdh.P256().NewPublicKey(public)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(sender)
	if err != nil {
		return nil, err
	}
	info := bytes.Join([][]byte{[]byte("WebPush: info\x00"), b.key.PublicKey().Bytes(), public}, nil)
	prk, err := hkdf.Extract(sha256.New, shared, b.auth)
	if err != nil {
		return nil, err
	}
	secret, err := hkdf.Expand(sha256.New, prk, string(info), 32)
	if err != nil {
		return nil, err
	}
	if prk, err = hkdf.Extract(sha256.New, secret, salt); err != nil {
		return nil, err
	}
	key, err := hkdf.Expand(sha256.New, prk, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Expand(sha256.New, prk, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	return open(key, nonce, record)
}

func open(key, nonce, record []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := aead.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	plaintext, ok := bytes.CutSuffix(bytes.TrimRight(padded, "\x00"), []byte{2})
	if !ok {
		return nil, errors.New("no delimiter of a last record")
	}
	return plaintext, nil
}

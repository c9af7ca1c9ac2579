package auth

import (
	"crypto/sha256"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"belfry/inbox"
)

const (
	// cachedTokens is how many tokens are remembered, at some 200 bytes each.
	cachedTokens = 10_000
	// cachedFor is how long a token is not verified again: so long is one accepted whose key has left the JWKS.
	cachedFor = time.Minute
)

// cache remembers whom tokens speak for. It holds their hashes, not the tokens: nothing that somebody who
// reads the memory could use.
type cache struct {
	lru *lru.Cache[[sha256.Size]byte, verified]
}

// verified is the outcome for a token that was accepted.
type verified struct {
	caller inbox.Caller
	until  time.Time
}

func newCache() cache {
	c, err := lru.New[[sha256.Size]byte, verified](cachedTokens)
	if err != nil {
		panic(err) // for a size below one
	}
	return cache{c}
}

// caller returns whom a token speaks for, where that is known and still so.
func (c cache) caller(key [sha256.Size]byte, now time.Time) (inbox.Caller, bool) {
	v, ok := c.lru.Get(key)
	return v.caller, ok && now.Before(v.until)
}

// remember keeps what a token was verified to be, for no longer than it is accepted.
func (c cache) remember(key [sha256.Size]byte, caller inbox.Caller, now time.Time) {
	until := now.Add(cachedFor)
	if caller.ExpiresAt.Before(until) {
		until = caller.ExpiresAt
	}
	c.lru.Add(key, verified{caller, until})
}

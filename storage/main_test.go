package storage_test

import (
	"testing"

	"go.uber.org/goleak"

	"belfry/storage/storagetest"
)

// TestMain looks for leaked goroutines after the private Postgres has ended, whose supervisor is one
// until then. What is left of a pool would be found as well: every test closes its own.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(runner(func() int { return storagetest.Main(m) }))
}

type runner func() int

func (r runner) Run() int { return r() }

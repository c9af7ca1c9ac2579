package push_test

import (
	"testing"

	"go.uber.org/goleak"

	"belfry/storage/storagetest"
)

// withDatabase ends the private Postgres, and what supervises it, before goroutines are counted.
type withDatabase struct{ m *testing.M }

func (w withDatabase) Run() int { return storagetest.Main(w.m) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDatabase{m}) }

package retention_test

import (
	"testing"

	"go.uber.org/goleak"

	"belfry/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(runner(func() int { return storagetest.Main(m) })) }

type runner func() int

func (r runner) Run() int { return r() }

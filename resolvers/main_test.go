package resolvers_test

import (
	"os"
	"testing"

	"belfry/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }

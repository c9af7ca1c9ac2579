package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"belfry/storage/storagetest"
)

// TestMain looks for leaked goroutines after the private Postgres has ended, whose supervisor is one
// until then.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(runner(func() int {
		var err error
		if programDir, err = os.MkdirTemp("", "belfry-program-*"); err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(programDir) }()
		return storagetest.Main(m)
	}))
}

type runner func() int

func (r runner) Run() int { return r() }

// programDir holds the program that the tests run; made and removed by TestMain.
var programDir string

// program builds belfry once, as the tests themselves are built, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "belfry")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if isUnderRaceDetector() {
		args = append(args, "-race")
	}
	if text, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, text)
	}
	return path, nil
})

func isUnderRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// variables returns this process's environment without anything that belfry reads, and with more.
func variables(more []string) []string {
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BELFRY_") })
	// The race detector would let every process that ends well wait a second for races yet to come.
	own = append(own, "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	return append(own, more...)
}

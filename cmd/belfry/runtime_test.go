package main

import (
	"runtime/debug"
	"testing"
)

// The environment has the last word on the garbage collector.
//
//nolint:paralleltest // it is the process's
func TestTuneRuntime(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for _, tt := range []struct {
		isSet bool
		want  int
	}{{true, 100}, {false, gcPercent}} {
		debug.SetGCPercent(100)
		if err := tuneRuntime(func(name string) (string, bool) { return "100", tt.isSet && name == "GOGC" }); err != nil {
			t.Error(err)
		}
		if got := debug.SetGCPercent(100); got != tt.want {
			t.Errorf("GOGC set: %t: got %d, want %d", tt.isSet, got, tt.want)
		}
	}
}

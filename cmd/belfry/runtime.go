package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// gcPercent lets the heap grow to five times what is live before it is collected: that is a few megabytes,
// and to collect at twice that costs a good part of the CPU. See doc/decisions/0021-runtime.md.
const gcPercent = 400

// tuneRuntime sets the garbage collector up, but for what GOGC and GOMEMLIMIT say: in a container the heap
// stays below nine tenths of the container's memory.
func tuneRuntime(lookup func(string) (string, bool)) error {
	if _, ok := lookup("GOGC"); !ok {
		debug.SetGCPercent(gcPercent)
	}
	_, err := memlimit.Set()
	return err
}

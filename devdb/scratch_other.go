//go:build !linux

package devdb

// hasRoom is false where there is no /dev/shm.
func hasRoom(string, uint64) bool { return false }

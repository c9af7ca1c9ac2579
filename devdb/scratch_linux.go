package devdb

import "syscall"

// hasRoom tells whether the file system of dir has so many bytes free.
func hasRoom(dir string, bytes uint64) bool {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Bsize <= 0 {
		return false
	}
	return st.Bavail >= bytes/uint64(st.Bsize)
}

package devdb

import "os"

// ScratchDir returns the directory in which a cluster for tests is best made: one in memory where
// there is one with 512 MB free, since making a file on a disk can cost a hundred times as much
// and every CREATE DATABASE makes hundreds; else the directory for temporary files.
func ScratchDir() string {
	if hasRoom(memoryDir, minScratch) {
		return memoryDir
	}
	return os.TempDir()
}

const (
	memoryDir  = "/dev/shm"
	minScratch = 512 << 20 // bytes; Docker gives 64 MB by default, too few for Postgres
)

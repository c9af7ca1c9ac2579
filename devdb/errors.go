package devdb

import "errors"

// The faults that a user can mend. The error that wraps one names the place and the remedy.
var (
	// ErrNoBinaries is a machine on which no usable Postgres was found.
	ErrNoBinaries = errors.New("no Postgres found")
	// ErrMajor is a data directory of a major version of Postgres that is not installed.
	ErrMajor = errors.New("data directory of another major version")
	// ErrUnreachable is a directory that the user whom Postgres runs as may not enter.
	ErrUnreachable = errors.New("directory not reachable")
	// ErrInUse is a directory that another process, Belfry or Postgres, works in.
	ErrInUse = errors.New("directory in use")
	// ErrSocketPath is a directory whose path is too long for a socket, or has a comma.
	ErrSocketPath = errors.New("path not fit for a socket")
	// ErrForeign is a directory with contents that are not a cluster of this package.
	ErrForeign = errors.New("directory holds other files")
	// ErrBadData is a data directory that does not tell its version.
	ErrBadData = errors.New("not a data directory of Postgres")
	// ErrNoUser is a root caller on a machine without a user to run Postgres as.
	ErrNoUser = errors.New("no user to run Postgres as")
	// ErrInitdb is a new data directory that could not be made.
	ErrInitdb = errors.New("initdb")
	// ErrStart is a Postgres that ended before it took connections.
	ErrStart = errors.New("start of Postgres")
	// ErrClosed is a call on a cluster that Stop, Close or Detach has ended.
	ErrClosed = errors.New("cluster is closed")
)

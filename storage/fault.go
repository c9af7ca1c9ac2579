package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"belfry/inbox"
)

// fault names the operation that failed and tells an absent database from a defect. A client's own
// cancellation passes as it is.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	wrapped := fmt.Errorf("%s: %w", op, err)
	if errors.Is(err, context.Canceled) {
		return wrapped
	}
	if isUnavailable(err) {
		return inbox.Wrap(inbox.Unavailable, wrapped, "the database does not answer, try again")
	}
	return wrapped
}

// isUnavailable reports whether the same statement may succeed later.
func isUnavailable(err error) bool {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isPassing(pgErr.Code)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// passing holds SQLSTATEs, or their classes, that describe the server's state and not the statement's.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
var passing = []string{
	"08",    // connection exception
	"25006", // read-only transaction: a standby before its promotion
	"40",    // transaction rollback: deadlock, serialization
	"53",    // insufficient resources: connections, memory, disk
	"55P03", // lock not available
	"57014", // query canceled, by a statement timeout
	"57P",   // shutdown, crash, starting up, database dropped
	"58",    // system error, I/O
}

func isPassing(sqlstate string) bool {
	for _, p := range passing {
		if strings.HasPrefix(sqlstate, p) {
			return true
		}
	}
	return false
}

// isUndefinedTable reports whether the statement named a table that does not exist.
func isUndefinedTable(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "42P01"
}

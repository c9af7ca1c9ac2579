package storage

import (
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// positionsOf returns whose objects of a kind the ids name, and where they stand.
func positionsOf(ids []inbox.NodeID, kind inbox.Kind) (users []string, positions []inbox.Cursor) {
	for _, n := range ids {
		if n.Kind == kind {
			users, positions = append(users, n.UserID), append(positions, n.Position)
		}
	}
	return users, positions
}

// byNodeID reads a statement's rows, by opaque id.
func byNodeID[T any, N interface {
	*T
	inbox.Node
}](rows pgx.Rows, scan func(pgx.Rows, func(*T)) error) (map[string]*T, error) {
	found := map[string]*T{}
	err := scan(rows, func(row *T) { found[N(row).NodeID()] = row })
	return found, err
}

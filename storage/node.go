package storage

import "belfry/inbox"

// positionsOf returns whose objects of a kind the ids name, and where they stand.
func positionsOf(ids []inbox.NodeID, kind inbox.Kind) (users []string, positions []inbox.Cursor) {
	for _, n := range ids {
		if n.Kind == kind {
			users, positions = append(users, n.UserID), append(positions, n.Position)
		}
	}
	return users, positions
}

// byNodeID sorts what a statement has read by opaque id.
func byNodeID[T inbox.Node](all []T, err error) (map[string]T, error) {
	if err != nil {
		return nil, err
	}
	found := make(map[string]T, len(all))
	for _, n := range all {
		found[n.NodeID()] = n
	}
	return found, nil
}

package resolvers

import (
	"context"

	"belfry/graph"
	"belfry/inbox"
)

// newPage checks the arguments of a connection, the current field, and looks ahead in the document: is the
// flag of the far side selected?
func newPage(ctx context.Context, first *int32, after *string, last *int32, before *string) (inbox.Page, error) {
	page, err := inbox.NewPage(first, after, last, before)
	if err != nil {
		return inbox.Page{}, err
	}
	far := "hasPreviousPage"
	if page.Backward {
		far = "hasNextPage"
	}
	page.Both = selects(ctx, "pageInfo", far)
	return page, nil
}

// connect makes the edges of a connection, and what it says about the page.
func connect[T interface{ Cursor() inbox.Cursor }, E any](
	rows []T, reach inbox.Reach, newEdge func(T) E,
) ([]*E, *graph.PageInfo) {
	made, edges := make([]E, len(rows)), make([]*E, len(rows))
	for i, row := range rows {
		made[i] = newEdge(row)
		edges[i] = &made[i]
	}
	info := &graph.PageInfo{HasNextPage: reach.HasNext, HasPreviousPage: reach.HasPrevious}
	if len(rows) > 0 {
		start, end := rows[0].Cursor().String(), rows[len(rows)-1].Cursor().String()
		info.StartCursor, info.EndCursor = &start, &end
	}
	return edges, info
}

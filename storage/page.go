package storage

import (
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// Page is a part of one user's list.
type Page[T any] struct {
	// Rows are newest first, whichever way the page was counted.
	Rows  []*T
	Reach inbox.Reach
}

// span is a stretch of a list, its ends excluded, and the end that reading starts from.
type span struct {
	// newer and older are nil where the list has no end on that side.
	newer, older *inbox.Cursor
	backward     bool
	limit        int
}

// spanOf returns what to read for a page: one row more than asked, which tells whether there are more.
func spanOf(p inbox.Page) span {
	return span{newer: p.After, older: p.Before, backward: p.Backward, limit: p.Size + 1}
}

// farSide returns a span that holds a row if the list has any on the other side of the bound that the
// page starts from, and false where that can't be or is not asked. The bound's own row counts: it is
// not on the page.
func farSide(p inbox.Page) (span, bool) {
	switch {
	case !p.Both:
		return span{}, false
	case !p.Backward && p.After != nil:
		from := p.After.JustBelow()
		return span{older: &from, backward: true, limit: 1}, true
	case p.Backward && p.Before != nil:
		from := p.Before.JustAbove()
		return span{newer: &from, limit: 1}, true
	}
	return span{}, false
}

// bounds returns the span's ends for the parameters of a row comparison, infinite where it has none.
func (s span) bounds() (newerAt pgtype.Timestamptz, newerID pgtype.UUID, olderAt pgtype.Timestamptz, olderID pgtype.UUID) {
	newerAt = pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	newerID = id(inbox.MaxUUID)
	olderAt = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	olderID = id(inbox.MinUUID)
	if s.newer != nil {
		newerAt, newerID = at(*s.newer), id(s.newer.ID)
	}
	if s.older != nil {
		olderAt, olderID = at(*s.older), id(s.older.ID)
	}
	return newerAt, newerID, olderAt, olderID
}

// newPage makes a page of the rows read for its span, in the order read, and of whether its far side
// holds any.
func newPage[T any](p inbox.Page, rows []*T, isBeyond bool) Page[T] {
	more := len(rows) > p.Size
	if more {
		rows = rows[:p.Size]
	}
	if p.Backward {
		slices.Reverse(rows)
		return Page[T]{rows, inbox.Reach{HasNext: isBeyond, HasPrevious: more}}
	}
	return Page[T]{rows, inbox.Reach{HasNext: more, HasPrevious: isBeyond}}
}

// list is where pages of rows come from.
type list[T any] struct {
	name string
	// statement returns what reads a span of each user's list, in the order of the users or of one user's rows.
	statement func(span) (sql string, args []any)
	scan      func(pgx.Rows, func(*T)) error
	owner     func(*T) string
}

// pages adds the reads of one page of each user's list, and of its far side where that is asked for.
func pages[T any](b *Batch, userIDs []string, page inbox.Page, l list[T]) map[string]Page[T] {
	beyond := map[string]bool{}
	if probe, ok := farSide(page); ok {
		sql, args := l.statement(probe)
		b.query(l.name+": far side", func(rows pgx.Rows) error {
			return l.scan(rows, func(row *T) { beyond[l.owner(row)] = true })
		}, sql, args...)
	}
	pages := make(map[string]Page[T], len(userIDs))
	sql, args := l.statement(spanOf(page))
	b.query(l.name, func(rows pgx.Rows) error {
		found := make(map[string][]*T, len(userIDs))
		err := l.scan(rows, func(row *T) { u := l.owner(row); found[u] = append(found[u], row) })
		for _, u := range userIDs {
			pages[u] = newPage(page, found[u], beyond[u])
		}
		return err
	}, sql, args...)
	return pages
}

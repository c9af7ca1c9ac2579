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

// The parts that the statements of all lists have in common. $1 is whose list is read, $2 to $5 are the ends
// of the range and $6 is the limit; what a list needs beside comes from $7 on.
//
// The inner limits are one more than the largest page: a constant tells the planner, which does not know
// $6, that few rows are wanted.
const (
	ofOne  = ` AND user_id = $1`
	ofEach = ` AND user_id = u.user_id`

	inSpan = `
      AND (created_at, id) < ($2::timestamptz, $3::uuid)
      AND (created_at, id) > ($4::timestamptz, $5::uuid)`
	toOlder = `
     ORDER BY created_at DESC, id DESC LIMIT 101)`
	toNewer = `
     ORDER BY created_at, id LIMIT 101)`

	pageOfOne = ` FROM (`
	olderOne  = `
) f ORDER BY created_at DESC, id DESC LIMIT $6`
	newerOne = `
) f ORDER BY created_at, id LIMIT $6`

	pagesOfEach = ` FROM unnest($1::text[]) WITH ORDINALITY AS u (user_id, ord) CROSS JOIN LATERAL (
  SELECT * FROM (`
	olderEach = `
  ) l ORDER BY created_at DESC, id DESC LIMIT $6
) f ORDER BY u.ord, f.created_at DESC, f.id DESC`
	newerEach = `
  ) l ORDER BY created_at, id LIMIT $6
) f ORDER BY u.ord, f.created_at, f.id`
)

// list is a kind of list that users have, and how a span of it is read: one user's or several distinct
// users', and to older rows or to newer ones.
type list[T any] struct {
	name                   string // for errors
	ofOne, ofOneBackward   string
	ofEach, ofEachBackward string
	scan                   func(rows pgx.Rows, add func(*T)) error
	owner                  func(*T) string
}

// pages adds a read of the same page of each of several distinct users. It costs one statement however many
// there are, and a second one where page.Both asks for the flag of the far side. The statements' own
// parameters are the last arguments.
func (l *list[T]) pages(b *Batch, userIDs []string, page inbox.Page, own ...any) map[string]Page[T] {
	beyond := map[string]bool{}
	if probe, ok := farSide(page); ok {
		l.queue(b, userIDs, probe, own, func(rows pgx.Rows) error {
			return l.scan(rows, func(row *T) { beyond[l.owner(row)] = true })
		})
	}
	pages := make(map[string]Page[T], len(userIDs))
	l.queue(b, userIDs, spanOf(page), own, func(rows pgx.Rows) error {
		found := make(map[string][]*T, len(userIDs))
		err := l.scan(rows, func(row *T) {
			u := l.owner(row)
			if found[u] == nil {
				found[u] = make([]*T, 0, page.Size+1)
			}
			found[u] = append(found[u], row)
		})
		for _, u := range userIDs {
			pages[u] = newPage(page, found[u], beyond[u])
		}
		return err
	})
	return pages
}

// queue adds the statement that reads the span of each user's list, and what reads its rows.
func (l *list[T]) queue(b *Batch, userIDs []string, s span, own []any, read func(pgx.Rows) error) {
	var users any = userIDs
	sql := l.ofEach
	switch {
	case len(userIDs) == 1 && s.backward:
		users, sql = userIDs[0], l.ofOneBackward
	case len(userIDs) == 1:
		users, sql = userIDs[0], l.ofOne
	case s.backward:
		sql = l.ofEachBackward
	}
	newerAt, newerID, olderAt, olderID := s.bounds()
	args := append([]any{users, newerAt, newerID, olderAt, olderID, s.limit}, own...)
	b.query(l.name, read, sql, args...)
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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
)

// timed is how often a statement is timed in a round.
const timed = 300

// depth measures what a page costs far down, and a badge among many that are read, in the database.
func (b *bench) depth(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	conn, err := connectAsBelfry(ctx, st.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := b.deepPage(ctx, st, conn); err != nil {
		return err
	}
	among, err := st.unreadStatement(ctx, deepUser)
	if err != nil {
		return err
	}
	alone, err := st.unreadStatement(ctx, shallowUser)
	if err != nil {
		return err
	}
	ratios, err := b.compareStatements(ctx, conn, always(among), always(alone))
	if err != nil {
		return err
	}
	b.measured(fmt.Sprintf("badge of a user with %d unread among %d, against %d among %d, time in the database",
		unreadOfDeep, st.deep, unreadOfDeep, unreadOfDeep), ratio, ratios, atMost(1.1), "")
	return nil
}

// deepPage compares the deep user's last page with the first.
func (b *bench) deepPage(ctx context.Context, st *stage, conn *pgx.Conn) error {
	number := st.deep / pageSize
	first, far, err := st.pages(ctx, conn, number)
	if err != nil {
		return err
	}
	ratios, err := b.compareStatements(ctx, conn, always(far), always(first))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("page %d against page 1, ", number)
	b.measured(name+"time in the database", ratio, ratios, atMost(1.05), "")
	onFirst, err := buffers(ctx, conn, first)
	if err != nil {
		return err
	}
	onFar, err := buffers(ctx, conn, far)
	if err != nil {
		return err
	}
	more := float64(onFar - onFirst)
	b.measured(name+"buffers more", "%.0f", []float64{more}, goal{limit: 2, isEitherWay: true}, fmt.Sprintf("%d, %d", onFar, onFirst))
	return nil
}

// pages returns the statements of the deep user's first page and of the one with that number.
func (st *stage) pages(ctx context.Context, conn *pgx.Conn, number int) (first, far statement, err error) {
	var at inbox.Cursor
	if err := conn.QueryRow(ctx, `SELECT created_at, id FROM notifications WHERE user_id = $1
		ORDER BY created_at DESC, id DESC OFFSET $2 LIMIT 1`, deepUser, (number-1)*pageSize-1).
		Scan(&at.CreatedAt, (*[16]byte)(&at.ID)); err != nil {
		return first, far, err
	}
	isArchived := false
	sent, err := watch(ctx, st.url, func(store *storage.Store) error {
		for _, after := range []*inbox.Cursor{nil, &at} {
			pages, err := store.FeedPages(ctx, []string{deepUser}, inbox.Page{Size: pageSize, After: after}, inbox.Filter{Archived: &isArchived})
			if err != nil {
				return err
			}
			if len(pages[deepUser].Rows) != pageSize {
				return fmt.Errorf("a page of %d", len(pages[deepUser].Rows))
			}
		}
		return nil
	})
	if err == nil && len(sent) != 2 {
		err = fmt.Errorf("two pages took %d statements", len(sent))
	}
	if err != nil {
		return first, far, err
	}
	return sent[0], sent[1], nil
}

// unreadStatement returns the statement of a user's badge.
func (st *stage) unreadStatement(ctx context.Context, user string) (statement, error) {
	sent, err := watch(ctx, st.url, func(store *storage.Store) error {
		badges, err := storage.Ask(ctx, store, []string{user}, (*storage.Batch).UnreadCounts)
		if err == nil && badges[user].Unread != unreadOfDeep {
			err = fmt.Errorf("%s has %d unread", user, badges[user].Unread)
		}
		return err
	})
	if err == nil && len(sent) != 1 {
		err = errors.New("a badge took more than one statement")
	}
	if err != nil {
		return statement{}, err
	}
	return sent[0], nil
}

// always returns the same statement each time.
func always(s statement) func() statement { return func() statement { return s } }

// compareStatements times two statements in turns, on one connection, and returns what the first takes
// against the second in each round: the ratio of the medians.
func (b *bench) compareStatements(ctx context.Context, conn *pgx.Conn, first, second func() statement) ([]float64, error) {
	runs := timed
	if b.isQuick() {
		runs = timed / 3
	}
	var ratios []float64
	for range b.rounds {
		var times [3][]float64
		for range runs {
			for i, next := range []func() statement{first, second, always(nothing)} {
				took, err := next().time(ctx, conn)
				if err != nil {
					return nil, err
				}
				times[i] = append(times[i], took)
			}
		}
		// The first runs prepare and plan. What a statement that does nothing takes is the way there and back.
		way := middle(times[2][runs/10:])
		ratios = append(ratios, (middle(times[0][runs/10:])-way)/(middle(times[1][runs/10:])-way))
	}
	return ratios, nil
}

// nothing is a statement that takes no time in the database.
var nothing = statement{sql: "SELECT"}

// time runs the statement and returns how long it took, in milliseconds.
func (s statement) time(ctx context.Context, conn *pgx.Conn) (float64, error) {
	began := time.Now()
	rows, err := conn.Query(ctx, s.sql, s.args...)
	if err != nil {
		return 0, err
	}
	rows.Close()
	return time.Since(began).Seconds() * 1000, rows.Err()
}

// buffers returns how many pages of the database the statement reads, from memory or not.
func buffers(ctx context.Context, conn *pgx.Conn, s statement) (int, error) {
	var counts []int
	for range 7 {
		var text []byte
		if err := conn.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.sql, s.args...).Scan(&text); err != nil {
			return 0, err
		}
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err := json.Unmarshal(text, &plans); err != nil {
			return 0, err
		}
		counts = append(counts, plans[0].Plan.Hit+plans[0].Plan.Read)
	}
	slices.Sort(counts)
	return counts[0], nil
}

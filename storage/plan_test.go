package storage_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
)

// filters returns every filter by status and archive.
func filters() map[string]inbox.Filter {
	all := map[string]inbox.Filter{}
	for _, status := range []*inbox.Status{nil, new(inbox.StatusUnread), new(inbox.StatusRead)} {
		for _, archived := range []*bool{nil, new(false), new(true)} {
			f := inbox.Filter{Status: status, Archived: archived}
			all[filterName(f)] = f
		}
	}
	return all
}

func filterName(f inbox.Filter) string {
	name := "any status"
	if f.Status != nil {
		name = string(*f.Status)
	}
	if f.Archived != nil {
		name += fmt.Sprintf(", archived %t", *f.Archived)
	}
	return name
}

// The first page and one near the other end touch as many buffers. The median of neighbours is taken,
// since a page may by chance lie across the border of two blocks.
func (c *crowded) testDepth(t *testing.T) {
	for _, user := range []crowd{unreadCrowd, readCrowd, archivedCrowd, mixedCrowd} {
		for name, f := range filters() {
			for _, backward := range []bool{false, true} {
				near, far := 20, user.rows-100 // all five pages are full
				if !backward {
					near, far = far, near
				}
				direction := map[bool]string{false: "forward", true: "backward"}[backward]
				read := func(ctx context.Context, s *storage.Store, p inbox.Page) (int, error) {
					pages, err := s.FeedPages(ctx, []string{user.userID}, p, f)
					return len(pages[user.userID].Rows), err
				}
				c.checkDepth(t, fmt.Sprintf("%s, %s, %s", user.userID, name, direction), user, read, backward, near, far)
			}
		}
	}
}

// readPage reads a page of a crowd and returns how many rows it has.
type readPage func(context.Context, *storage.Store, inbox.Page) (int, error)

// checkDepth compares pages that begin around two numbers.
func (c *crowded) checkDepth(
	t *testing.T, name string, user crowd, read readPage, backward bool, near, far int,
) {
	t.Helper()
	nearRows, nearBuffers := c.pagesFrom(t, user, read, backward, near)
	farRows, farBuffers := c.pagesFrom(t, user, read, backward, far)
	if nearRows < 20 || farRows < 20 {
		// Of the few: a block for each notification, which lie apart.
		if most := 80; nearBuffers > most || farBuffers > most {
			t.Errorf("%s: got %d and %d buffers, want at most %d", name, nearBuffers, farBuffers, most)
		}
		return
	}
	if diff := farBuffers - nearBuffers; diff < -2 || diff > 2 {
		t.Errorf("%s: got %d buffers far from the start, want %d ± 2 as near it", name, farBuffers, nearBuffers)
	}
}

// pagesFrom returns the median of the buffers, and the fewest rows, of pages of 20 that begin at and beyond
// a number.
func (c *crowded) pagesFrom(t *testing.T, user crowd, read readPage, backward bool, from int) (rows, buffers int) {
	t.Helper()
	rows = inbox.MaxPage
	var all []int
	for i := range 5 {
		p := inbox.Page{Size: 20, Backward: backward}
		if backward {
			p.Before = user.position(from + 20*i)
		} else {
			p.After = user.position(from + 100 - 20*i)
		}
		plans := c.plans(t, func(ctx context.Context, s *storage.Store) error {
			count, err := read(ctx, s, p)
			rows = min(rows, count)
			return err
		})
		for _, plan := range plans {
			all = append(all, plan.buffers())
		}
	}
	slices.Sort(all)
	return rows, all[len(all)/2]
}

// A page is a merge of index ranges, without a sort, and both its ends bound them.
func (c *crowded) testPageShape(t *testing.T) {
	position := mixedCrowd.position(mixedCrowd.rows / 2)
	for name, p := range map[string]inbox.Page{
		"FeedPage":         {Size: 20, After: position},
		"FeedPageBackward": {Size: 20, Before: position, Backward: true},
	} {
		plan := c.plans(t, func(ctx context.Context, s *storage.Store) error {
			_, err := s.FeedPages(ctx, []string{mixedCrowd.userID}, p, inbox.Filter{})
			return err
		})[name]
		var indexes []string
		for n := range plan.nodes() {
			if strings.Contains(n.NodeType, "Sort") {
				t.Errorf("%s: got a node %s, want none", name, n.NodeType)
			}
			if n.Relation == "" {
				continue
			}
			indexes = append(indexes, n.Index)
			for _, want := range []string{
				"(user_id = $1)", "(ROW(created_at, id) < ROW($2, $3))", "(ROW(created_at, id) > ROW($4, $5))",
			} {
				if !strings.Contains(n.IndexCond, want) {
					t.Errorf("%s: got condition %s on %s, want %s in it", name, n.IndexCond, n.Index, want)
				}
			}
		}
		want := []string{"notifications_unread", "notifications_done", "notifications_done", "notifications_done"}
		if diff := cmp.Diff(want, indexes); diff != "" {
			t.Errorf("%s: indexes (-want +got):\n%s", name, diff)
		}
	}
}

// testCount counts few unread among many that are read.
func (c *crowded) testCount(t *testing.T) {
	var got map[string]inbox.Badge
	plan := c.plans(t, func(ctx context.Context, s *storage.Store) (err error) {
		got, err = s.UnreadCounts(ctx, []string{readCrowd.userID})
		return err
	})["UnreadCounts"]
	if diff := cmp.Diff(map[string]inbox.Badge{readCrowd.userID: {Unread: few}}, got, sameCounts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got, most := plan.buffers(), 6; got > most {
		t.Errorf("got %d buffers, want at most %d", got, most)
	}
}

// testScans also fails for a statement that nobody has thought of here.
func (c *crowded) testScans(t *testing.T) {
	plans := map[string]plan{}
	for _, page := range []inbox.Page{{Size: 20}, {Size: 20, Backward: true}} {
		maps.Copy(plans, c.plans(t, func(ctx context.Context, s *storage.Store) error {
			_, err := s.FeedPages(ctx, []string{"light1"}, page, inbox.Filter{})
			return err
		}))
		for _, l := range listings() {
			for _, users := range [][]string{{"light1"}, {"light1", "light2"}} {
				maps.Copy(plans, c.plans(t, func(ctx context.Context, s *storage.Store) error {
					_, err := l.pages(ctx, s, users, page)
					return err
				}))
			}
		}
	}
	for _, call := range calls() {
		maps.Copy(plans, c.plans(t, call))
	}
	statements := parseSource(t).statements()
	plans["ClaimsByKey"] = explain(t, c.conn, sent{
		"ClaimsByKey", statements["claimsByKeySQL"], []any{[]string{"light1"}, "key", []byte{}},
	})
	plans["ActivityByClaim"] = explain(t, c.conn, sent{
		"ActivityByClaim", statements["activityByClaimSQL"], []any{"light1", "key", []byte{}},
	})
	for _, name := range []string{"Listen", "Notify", "SchemaVersion"} {
		plans[name] = plan{} // of no table of Belfry's
	}
	for constant := range statements {
		name := strings.ToUpper(constant[:1]) + strings.TrimSuffix(constant[1:], "SQL")
		p, ok := plans[name]
		if !ok {
			t.Errorf("%s: no plan was looked at, add it to calls", name)
		}
		for n := range p.nodes() {
			isBitmap := strings.HasPrefix(n.NodeType, "Bitmap") && n.Relation == "notifications"
			if n.NodeType == "Seq Scan" || isBitmap {
				t.Errorf("%s: got a %s of %s, want an index scan", name, n.NodeType, n.Relation)
			}
		}
	}
}

// A connection's first five executions are planned with their arguments, which takes longer than the
// statement itself. After that the generic plan must look as cheap as it is.
func (c *crowded) testGenericPlan(t *testing.T) {
	c.recorder.take()
	page(t, c.store, unreadCrowd.userID, inbox.Page{Size: 20}, inbox.Filter{Archived: new(false)})
	s := c.recorder.take()[0]
	if _, err := c.conn.Prepare(t.Context(), "generic", s.sql); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		exec(t, c.conn, "generic", s.args...)
	}
	if got := value[int](t, c.conn, `SELECT generic_plans FROM pg_prepared_statements WHERE name = 'generic'`); got == 0 {
		t.Error("got only custom plans in 10 executions, want generic ones after the fifth")
	}
}

// A plan must not hang on the planner's idea of how much an ordinary user has: where it took a bitmap scan
// and a sort for the few rows that it expects, a user with a million would wait for all of them.
func (c *crowded) testStatistics(t *testing.T) {
	var hot []sent
	for _, call := range hotCalls() {
		hot = append(hot, c.sent(t, call)...)
	}
	tables := []string{"notifications", "activities", "items", "item_tags"}
	for _, users := range []int{10, 100, 300, 1000, 2000, 3000, 5000, 10_000, 100_000, 1_000_000} {
		for _, table := range tables {
			exec(t, c.conn, fmt.Sprintf(`ALTER TABLE %s ALTER user_id SET (n_distinct = %d)`, table, users))
			exec(t, c.conn, `ANALYZE `+table)
		}
		for _, isVacuumed := range []bool{true, false} {
			exec(t, c.conn, `UPDATE pg_class SET relallvisible = CASE WHEN $1 THEN relpages ELSE 0 END
				WHERE relname = ANY ($2)`, isVacuumed, tables)
			for _, s := range hot {
				for n := range explain(t, c.conn, s).nodes() {
					if strings.HasPrefix(n.NodeType, "Bitmap") || n.NodeType == "Seq Scan" || n.NodeType == "Sort" {
						t.Errorf("%s, %d users, vacuumed %t: got a node %s", s.name, users, isVacuumed, n.NodeType)
					}
				}
			}
		}
	}
}

package storage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
)

// listCrowd has many activities, and as many items, of which all carry the tag "tag", and some others too.
var listCrowd = crowd{"lists", 200_000}

// seedLists gives listCrowd its rows, and a few to many others.
func seedLists(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec(t, conn, `
		ALTER TABLE activities SET UNLOGGED; ALTER TABLE items SET UNLOGGED; ALTER TABLE item_tags SET UNLOGGED;
		INSERT INTO activities (user_id, created_at, id, verb)
		SELECT 'light' || u, clock_timestamp(), gen_random_uuid(), 'verb' FROM generate_series(1, 3000) u, generate_series(1, 20);
		INSERT INTO items (user_id, id, item_id, title, tags, created_at)
		SELECT user_id, id, id::text, 'title', '{tag}', created_at FROM activities`)
	exec(t, conn, `INSERT INTO activities (user_id, created_at, id, verb)
		SELECT $1, $2::timestamptz + i / 3 * interval '1 second', lpad(to_hex(i), 32, '0')::uuid, 'verb'
		FROM generate_series(1, $3::int) i`, listCrowd.userID, moment, listCrowd.rows)
	exec(t, conn, `INSERT INTO items (user_id, id, item_id, title, tags, created_at)
		SELECT user_id, id, id::text, 'title', CASE WHEN id::text LIKE '%0' THEN '{other,tag}' ELSE '{tag}'::text[] END, created_at
		FROM activities WHERE user_id = $1`, listCrowd.userID)
	exec(t, conn, `INSERT INTO item_tags SELECT user_id, unnest(tags), created_at, id FROM items`)
}

// listStatements has the name of the statement by which each list is read, of one user from new to old, and the
// indexes that it reads.
var listStatements = map[string]struct {
	name    string
	indexes []string
}{
	"activities":   {"ActivityPage", []string{"activities_pkey"}},
	"items":        {"ItemPage", []string{"items_page"}},
	"items by tag": {"TaggedItemPage", []string{"item_tags_pkey", "items_pkey"}},
}

// direction returns a page from the newer or the older end of a range, and how its statement's name ends.
func direction(backward bool, bound *inbox.Cursor) (inbox.Page, string) {
	if backward {
		return inbox.Page{Size: 20, Before: bound, Backward: true}, "Backward"
	}
	return inbox.Page{Size: 20, After: bound}, ""
}

// A page is a range of one index, without a sort, and both its ends bound it; by tag, with a look-up for
// each row. Of several users it is that for each.
func (c *crowded) testListShape(t *testing.T) {
	for list, l := range listings() {
		for _, users := range [][]string{{listCrowd.userID}, {"light1", listCrowd.userID, "light2"}} {
			for _, backward := range []bool{false, true} {
				p, ending := direction(backward, listCrowd.position(listCrowd.rows/2))
				want := listStatements[list]
				name, user := want.name+ending, "$1"
				if len(users) > 1 {
					name, user = want.name+"s"+ending, "u.user_id"
				}
				plan, ok := c.plans(t, func(ctx context.Context, s *storage.Store) error {
					_, err := l.pages(ctx, s, users, p)
					return err
				})[name]
				if !ok {
					t.Errorf("%s: not sent", name)
					continue
				}
				if len(users) > 1 {
					plan = plan.Plans[0] // below the sort of the pages that were read
				}
				checkRange(t, name, plan, user, want.indexes)
			}
		}
	}
}

// checkRange wants no sort in a plan, and the first of the indexes to be read between both ends.
func checkRange(t *testing.T, name string, p plan, user string, indexes []string) {
	t.Helper()
	var got []string
	for n := range p.nodes() {
		if strings.Contains(n.NodeType, "Sort") || strings.HasPrefix(n.NodeType, "Bitmap") || n.NodeType == "Seq Scan" {
			t.Errorf("%s: got a node %s, want none", name, n.NodeType)
		}
		if n.Relation == "" {
			continue
		}
		got = append(got, n.Index)
		if n.Index != indexes[0] {
			continue
		}
		for _, want := range []string{
			"(user_id = " + user + ")", "(ROW(created_at, id) < ROW($2, $3))", "(ROW(created_at, id) > ROW($4, $5))",
		} {
			if !strings.Contains(n.IndexCond, want) {
				t.Errorf("%s: got condition %s on %s, want %s in it", name, n.IndexCond, n.Index, want)
			}
		}
	}
	if diff := cmp.Diff(indexes, got); diff != "" {
		t.Errorf("%s: indexes (-want +got):\n%s", name, diff)
	}
}

// The first page and the 10,000th touch as many buffers, of one user and of several.
func (c *crowded) testListDepth(t *testing.T) {
	for list, l := range listings() {
		for _, users := range [][]string{{listCrowd.userID}, {listCrowd.userID, "nobody"}} {
			for _, backward := range []bool{false, true} {
				near, far := 20, listCrowd.rows-100
				if !backward {
					near, far = far, near
				}
				read := func(ctx context.Context, s *storage.Store, p inbox.Page) (int, error) {
					pages, err := l.pages(ctx, s, users, p)
					return len(pages[listCrowd.userID].Rows), err
				}
				name := fmt.Sprintf("%s of %d users, backward %t", list, len(users), backward)
				c.checkDepth(t, name, listCrowd, read, backward, near, far)
			}
		}
	}
}

// A change of an item finds its tag rows by their whole key, however many items carry the same tag.
func (c *crowded) testTagRows(t *testing.T) {
	in := tagged("item", "tag other")
	in.UserID, in.CreatedAt = listCrowd.userID, new(moment)
	if _, err := c.store.PutItem(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Tags, in.CreatedAt = []string{"tag", "new"}, nil
	plans := c.plans(t, func(ctx context.Context, s *storage.Store) error {
		_, err := s.PutItem(ctx, in)
		return err
	})
	plans["DeleteItem"] = explain(t, c.conn, sent{
		"DeleteItem", parseSource(t).statements()["deleteItemSQL"], []any{in.UserID, inbox.ItemUUID(in.ItemID).String()},
	})
	for _, name := range []string{"PutItem", "DeleteItem"} {
		var got []string
		for n := range plans[name].nodes() {
			// A node's own: the root does not count what is done beside it.
			if got, most := n.buffers(), 50; got > most {
				t.Errorf("%s: got %d buffers at %s, want at most %d", name, got, n.NodeType, most)
			}
			if n.Relation == "item_tags" && n.Index != "" {
				got = append(got, n.Index)
				for _, want := range []string{"user_id = ", "tag = ", "created_at = ", "id = "} {
					if !strings.Contains(n.IndexCond, want) {
						t.Errorf("%s: got condition %s, want %s in it", name, n.IndexCond, want)
					}
				}
			}
		}
		if diff := cmp.Diff([]string{"item_tags_pkey"}, got); diff != "" {
			t.Errorf("%s: indexes of item_tags (-want +got):\n%s", name, diff)
		}
	}
}

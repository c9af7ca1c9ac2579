package storage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// places is a page as the places of its rows.
type places struct {
	Rows  []inbox.Cursor
	Reach inbox.Reach
}

func placesOf[T interface{ Cursor() inbox.Cursor }](rows []T, reach inbox.Reach) places {
	p := places{Rows: make([]inbox.Cursor, 0, len(rows)), Reach: reach}
	for _, row := range rows {
		p.Rows = append(p.Rows, row.Cursor())
	}
	return p
}

// oracle is what a page of all of a list's places ought to be: sort, cut.
func oracle(all []inbox.Cursor, p inbox.Page) places {
	list := []inbox.Cursor{}
	var isNewer, isOlder bool // whether the list has any on the newer and on the older side of the range
	for _, at := range all {
		above := p.After != nil && at.Compare(*p.After) >= 0
		below := p.Before != nil && at.Compare(*p.Before) <= 0
		isNewer, isOlder = isNewer || above, isOlder || below
		if !above && !below {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b inbox.Cursor) int { return b.Compare(a) })
	more := len(list) > p.Size
	if p.Backward {
		return places{list[max(0, len(list)-p.Size):], inbox.Reach{HasNext: isOlder && p.Both, HasPrevious: more}}
	}
	return places{list[:min(p.Size, len(list))], inbox.Reach{HasNext: more, HasPrevious: isNewer && p.Both}}
}

// checkWalk compares every page of a walk over a list.
func checkWalk(t *testing.T, name string, all []inbox.Cursor, p inbox.Page, read func(inbox.Page) places) {
	t.Helper()
	for range len(all) + 1 {
		got := read(p)
		if diff := cmp.Diff(oracle(all, p), got); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", name, pageName(p), diff)
		}
		switch {
		case len(got.Rows) == 0:
			return
		case p.Backward && got.Reach.HasPrevious:
			p.Before = &got.Rows[0]
		case !p.Backward && got.Reach.HasNext:
			p.After = &got.Rows[len(got.Rows)-1]
		default:
			return
		}
	}
	t.Errorf("%s: the walk does not end", name)
}

// randomPage returns a page between two bounds of which some lie at rows, some between and some beyond, and
// the users of whom it is asked.
func randomPage(random *rand.Rand) (inbox.Page, []string) {
	bound := func() *inbox.Cursor {
		if random.IntN(4) == 0 {
			return nil
		}
		at := moment.Add(time.Duration(random.IntN(8)-1) * time.Microsecond)
		return &inbox.Cursor{CreatedAt: at, ID: numbered(random.IntN(112))}
	}
	p := inbox.Page{
		Size: random.IntN(8), Backward: random.IntN(2) == 0, After: bound(), Before: bound(), Both: random.IntN(2) == 0,
	}
	if random.IntN(5) == 0 {
		p.Size = inbox.MaxPage
	}
	return p, [][]string{{"a"}, {"b"}, {"b", "a", "nobody"}}[random.IntN(3)]
}

// listing is a kind of list beside the feed: how rows get into it, past the store and at places of the
// test's choice, and how its pages are read.
type listing struct {
	insert func(t testing.TB, conn *pgx.Conn, userID string, at ...inbox.Cursor)
	pages  func(ctx context.Context, s *storage.Store, userIDs []string, p inbox.Page) (map[string]places, error)
}

// read reads one user's page.
func (l listing) read(t testing.TB, store *storage.Store, userID string, p inbox.Page) places {
	t.Helper()
	pages, err := l.pages(t.Context(), store, []string{userID}, p)
	if err != nil {
		t.Fatal(err)
	}
	return pages[userID]
}

// pagesOf turns a store's pages into places.
func pagesOf[T any, P interface {
	*T
	Cursor() inbox.Cursor
}](pages map[string]storage.Page[T], err error) (map[string]places, error) {
	found := make(map[string]places, len(pages))
	for u, p := range pages {
		rows := make([]P, len(p.Rows))
		for i, row := range p.Rows {
			rows[i] = row
		}
		found[u] = placesOf(rows, p.Reach)
	}
	return found, err
}

func listings() map[string]listing {
	items := func(tag *string) func(context.Context, *storage.Store, []string, inbox.Page) (map[string]places, error) {
		return func(ctx context.Context, s *storage.Store, userIDs []string, p inbox.Page) (map[string]places, error) {
			return pagesOf(s.ItemPages(ctx, userIDs, p, tag))
		}
	}
	return map[string]listing{
		"activities": {insertActivities, func(ctx context.Context, s *storage.Store, userIDs []string, p inbox.Page) (map[string]places, error) {
			return pagesOf(s.ActivityPages(ctx, userIDs, p))
		}},
		"items":        {insertItems, items(nil)},
		"items by tag": {insertItems, items(new("tag"))},
	}
}

func insertActivities(t testing.TB, conn *pgx.Conn, userID string, at ...inbox.Cursor) {
	t.Helper()
	for _, c := range at {
		exec(t, conn, `INSERT INTO activities (user_id, created_at, id, verb) VALUES ($1, $2, $3, 'verb')`,
			userID, c.CreatedAt, c.ID.String())
	}
}

// insertItems gives each item two tags of its own beside the one that all have.
func insertItems(t testing.TB, conn *pgx.Conn, userID string, at ...inbox.Cursor) {
	t.Helper()
	for _, c := range at {
		exec(t, conn, `WITH i AS (
			  INSERT INTO items (user_id, id, item_id, title, tags, created_at)
			  VALUES ($1, $2, $4, 'title', ARRAY['before ' || $4, 'tag', 'taga ' || $4], $3) RETURNING *)
			INSERT INTO item_tags SELECT user_id, unnest(tags), created_at, id FROM i`,
			userID, c.ID.String(), c.CreatedAt, c.ID.String())
	}
}

// T-28, T-29, T-32: what holds for the feed's pages holds for those of every list.
func TestLists(t *testing.T) {
	t.Parallel()
	for name, l := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			second := moment.Truncate(time.Second)
			var all []inbox.Cursor
			for n := range 5 {
				all = append(all, inbox.Cursor{CreatedAt: moment, ID: numbered(n)}) // T-28: they share a timestamp
			}
			for n, micros := range []int{123456, 123457, 123999} { // T-29: within a millisecond
				at := second.Add(time.Duration(micros) * time.Microsecond)
				all = append(all, inbox.Cursor{CreatedAt: at, ID: numbered(9 - n)})
			}
			l.insert(t, conn, "u", all...)
			l.insert(t, conn, "other", inbox.Cursor{CreatedAt: moment, ID: numbered(3)})
			read := func(p inbox.Page) places { return l.read(t, store, "u", p) }
			for _, size := range []int{1, 2, 3, 8} {
				checkWalk(t, name, all, inbox.Page{Size: size, Both: true}, read)
				checkWalk(t, name, all, inbox.Page{Size: size, Both: true, Backward: true}, read)
			}
			// T-32: the cursor's row is gone.
			p := inbox.Page{Size: 2, After: &all[2], Both: true}
			exec(t, conn, `DELETE FROM activities WHERE id = $1`, all[2].ID.String())
			exec(t, conn, `DELETE FROM items WHERE id = $1`, all[2].ID.String())
			exec(t, conn, `DELETE FROM item_tags WHERE id = $1`, all[2].ID.String())
			want := places{[]inbox.Cursor{all[1], all[0]}, inbox.Reach{HasNext: true, HasPrevious: true}}
			if diff := cmp.Diff(want, read(p)); diff != "" {
				t.Errorf("after what is gone (-want +got):\n%s", diff)
			}
			// T-34: the same page twice.
			if diff := cmp.Diff(read(p), read(p)); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
			if got := l.read(t, store, "nobody", inbox.Page{Size: 1, Both: true}); len(got.Rows) > 0 || got.Reach != (inbox.Reach{}) {
				t.Errorf("nobody's list: got %v, want none", got)
			}
		})
	}
}

// T-28: every page, of one user and of several by one statement, is what sorting in memory says.
func TestListOracle(t *testing.T) {
	t.Parallel()
	for name, l := range listings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			random := rand.New(rand.NewPCG(6, 7))
			all := map[string][]inbox.Cursor{}
			for user, count := range map[string]int{"a": 45, "b": 110} {
				for n := range count {
					at := moment.Add(time.Duration(random.IntN(6)) * time.Microsecond)
					all[user] = append(all[user], inbox.Cursor{CreatedAt: at, ID: numbered(n + 1)})
				}
				l.insert(t, conn, user, all[user]...)
			}
			for range 500 {
				p, users := randomPage(random)
				pages, err := l.pages(t.Context(), store, users, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, u := range users {
					if diff := cmp.Diff(oracle(all[u], p), pages[u]); diff != "" {
						t.Errorf("%s of %s, %s (-want +got):\n%s", u, fmt.Sprint(users), pageName(p), diff)
					}
				}
			}
		})
	}
}

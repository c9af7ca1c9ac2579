package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// matches is a filter as the schema describes it.
func matches(f inbox.Filter, n *inbox.Notification) bool {
	return (f.Status == nil || (*f.Status == inbox.StatusRead) == (n.ReadAt != nil)) &&
		(f.Archived == nil || *f.Archived == (n.ArchivedAt != nil)) &&
		(f.Categories == nil || slices.Contains(f.Categories, n.Category))
}

// oracle is what a page of the rows ought to be: filter, sort, cut.
func oracle(rows []*inbox.Notification, p inbox.Page, f inbox.Filter) storage.Page[inbox.Notification] {
	var list []*inbox.Notification
	var isNewer, isOlder bool // whether the list has any on the newer and on the older side of the range
	for _, n := range rows {
		if !matches(f, n) {
			continue
		}
		above := p.After != nil && n.Cursor().Compare(*p.After) >= 0
		below := p.Before != nil && n.Cursor().Compare(*p.Before) <= 0
		isNewer, isOlder = isNewer || above, isOlder || below
		if !above && !below {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *inbox.Notification) int { return b.Cursor().Compare(a.Cursor()) })
	more := len(list) > p.Size
	want := storage.Page[inbox.Notification]{
		Rows:  list[:min(p.Size, len(list))],
		Reach: inbox.Reach{HasNext: more, HasPrevious: isNewer && p.Both},
	}
	if p.Backward {
		want.Rows = list[max(0, len(list)-p.Size):]
		want.Reach = inbox.Reach{HasNext: isOlder && p.Both, HasPrevious: more}
	}
	return want
}

// randomRows returns notifications of which many share an instant.
func randomRows(random *rand.Rand, userID string, count int) []*inbox.Notification {
	rows := make([]*inbox.Notification, count)
	for i := range rows {
		rows[i] = row(userID, i+1, moment.Add(time.Duration(random.IntN(6))*time.Microsecond))
		rows[i].Category = string(rune('a' + random.IntN(3)))
		if random.IntN(2) == 0 {
			read(rows[i])
		}
		if random.IntN(3) == 0 {
			archived(rows[i])
		}
	}
	return rows
}

func checkPage(t *testing.T, name string, want, got storage.Page[inbox.Notification]) {
	t.Helper()
	if diff := cmp.Diff(titles(want.Rows), titles(got.Rows)); diff != "" {
		t.Errorf("%s: rows (-want +got):\n%s", name, diff)
	}
	if diff := cmp.Diff(want.Reach, got.Reach); diff != "" {
		t.Errorf("%s: reach (-want +got):\n%s", name, diff)
	}
}

func pageName(p inbox.Page, f inbox.Filter) string {
	name := fmt.Sprintf("%s, categories %q, size %d", filterName(f), f.Categories, p.Size)
	if p.Backward {
		name += " backward"
	}
	if p.After != nil {
		name += fmt.Sprintf(" after %d#%d", p.After.CreatedAt.UnixMicro(), p.After.ID[15])
	}
	if p.Before != nil {
		name += fmt.Sprintf(" before %d#%d", p.Before.CreatedAt.UnixMicro(), p.Before.ID[15])
	}
	return name
}

// T-28: every page, of one user and of two by one statement, is what sorting in memory says.
func TestFeedOracle(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store := open(t, databaseURL)
	random := rand.New(rand.NewPCG(2, 3))
	rows := map[string][]*inbox.Notification{"a": randomRows(random, "a", 45), "b": randomRows(random, "b", 110)}
	insert(t, connect(t, databaseURL), append(rows["a"], rows["b"]...)...)

	var all []inbox.Filter
	for _, f := range filters() {
		for _, categories := range [][]string{nil, {}, {"a"}, {"c", "a", "none"}} {
			f.Categories = categories
			all = append(all, f)
		}
	}
	t.Run("walks", func(t *testing.T) {
		for _, f := range all {
			if f.Categories != nil && len(f.Categories) < 2 {
				continue // among the ranges below: walks take their time
			}
			for _, size := range []int{1, 2, 3, 4, 5, 6, 7, 20, 100} {
				for _, backward := range []bool{false, true} {
					checkWalk(t, store, rows["a"], inbox.Page{Size: size, Backward: backward, Both: true}, f)
				}
			}
		}
	})
	t.Run("ranges", func(t *testing.T) {
		bound := func() *inbox.Cursor {
			if random.IntN(4) == 0 {
				return nil
			}
			at := moment.Add(time.Duration(random.IntN(8)-1) * time.Microsecond)
			return &inbox.Cursor{CreatedAt: at, ID: numbered(random.IntN(112))}
		}
		for range 1500 {
			f := all[random.IntN(len(all))]
			p := inbox.Page{
				Size: random.IntN(8), Backward: random.IntN(2) == 0, After: bound(), Before: bound(), Both: random.IntN(2) == 0,
			}
			if random.IntN(5) == 0 {
				p.Size = inbox.MaxPage
			}
			users := [][]string{{"a"}, {"b"}, {"b", "a", "nobody"}}[random.IntN(3)]
			pages, err := store.FeedPages(t.Context(), users, p, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range users {
				checkPage(t, u+" of "+fmt.Sprint(users)+", "+pageName(p, f), oracle(rows[u], p, f), pages[u])
			}
		}
	})
}

// checkWalk compares every page of a walk.
func checkWalk(t *testing.T, store *storage.Store, rows []*inbox.Notification, p inbox.Page, f inbox.Filter) {
	t.Helper()
	for range len(rows) + 1 {
		got := page(t, store, rows[0].UserID, p, f)
		checkPage(t, pageName(p, f), oracle(rows, p, f), got)
		switch {
		case p.Backward && got.Reach.HasPrevious:
			p.Before = new(got.Rows[0].Cursor())
		case !p.Backward && got.Reach.HasNext:
			p.After = new(got.Rows[len(got.Rows)-1].Cursor())
		default:
			return
		}
	}
	t.Errorf("%s: the walk does not end", pageName(p, f))
}

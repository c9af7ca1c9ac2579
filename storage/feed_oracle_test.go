package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// matches is a filter as the schema describes it.
func matches(f inbox.Filter, n *inbox.Notification) bool {
	return (f.Status == nil || (*f.Status == inbox.StatusRead) == (n.ReadAt != nil)) &&
		(f.Archived == nil || *f.Archived == (n.ArchivedAt != nil)) &&
		(f.Categories == nil || slices.Contains(f.Categories, n.Category))
}

// placesIn returns where those of the rows stand that match a filter.
func placesIn(rows []*inbox.Notification, f inbox.Filter) []inbox.Cursor {
	var list []inbox.Cursor
	for _, n := range rows {
		if matches(f, n) {
			list = append(list, n.Cursor())
		}
	}
	return list
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

func feedName(f inbox.Filter) string {
	return fmt.Sprintf("%s, categories %q", filterName(f), f.Categories)
}

func pageName(p inbox.Page) string {
	name := fmt.Sprintf("size %d", p.Size)
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
					p := inbox.Page{Size: size, Backward: backward, Both: true}
					checkWalk(t, feedName(f), placesIn(rows["a"], f), p, func(p inbox.Page) places {
						got := page(t, store, "a", p, f)
						return placesOf(got.Rows, got.Reach)
					})
				}
			}
		}
	})
	t.Run("ranges", func(t *testing.T) {
		for range 1500 {
			f := all[random.IntN(len(all))]
			p, users := randomPage(random)
			pages, err := store.FeedPages(t.Context(), users, p, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range users {
				got := placesOf(pages[u].Rows, pages[u].Reach)
				if diff := cmp.Diff(oracle(placesIn(rows[u], f), p), got); diff != "" {
					t.Errorf("%s of %s, %s, %s (-want +got):\n%s", u, fmt.Sprint(users), feedName(f), pageName(p), diff)
				}
			}
		}
	})
}

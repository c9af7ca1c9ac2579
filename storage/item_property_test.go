package storage_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// curator puts, moves, tags anew and deletes items that nobody else writes.
type curator struct {
	store  *storage.Store
	model  *model
	random *rand.Rand
	name   string
	places map[string]inbox.Cursor // by itemId, of those that there are
}

// step changes one of few items, whether it is there or not.
func (c *curator) step(t *testing.T) error {
	in := tagged(fmt.Sprint(c.name, c.random.IntN(feedSize/4)), []string{"a", "b", "a b"}[c.random.IntN(3)])
	if c.random.IntN(3) > 0 { // at one of few instants, which many share
		in.CreatedAt = new(moment.Add(time.Duration(c.random.IntN(12)) * time.Microsecond))
	}
	if at, ok := c.places[in.ItemID]; ok {
		c.model.put(at, func(*entry) {}, true) // from now on nobody has to find it there
		delete(c.places, in.ItemID)
		if c.random.IntN(3) == 0 {
			_, err := c.store.DeleteItem(t.Context(), "u", inbox.ItemUUID(in.ItemID))
			return err
		}
	}
	item, err := c.store.PutItem(t.Context(), in)
	if err != nil {
		return err
	}
	c.places[in.ItemID] = item.Cursor()
	c.model.put(item.Cursor(), func(e *entry) { e.category = strings.Join(item.Tags, " ") }, false)
	return nil
}

// T-28: while items are put, moved, tagged anew and deleted, a reader meets each that stays in its list
// throughout exactly once, in order.
func TestItemsWhileWriting(t *testing.T) {
	t.Parallel()
	const curators, readers, walks = 4, 3, 30
	databaseURL := storagetest.URL(t)
	store := open(t, withParam(t, databaseURL, "pool_max_conns", "8"))
	m := &model{entries: map[inbox.Cursor]*entry{}}
	var isDone atomic.Bool
	var writing, reading sync.WaitGroup
	for i := range curators {
		c := &curator{
			store: store, model: m, random: rand.New(rand.NewPCG(9, uint64(i))), name: fmt.Sprint(i, "/"),
			places: map[string]inbox.Cursor{},
		}
		for range feedSize / 4 {
			if err := c.step(t); err != nil {
				t.Fatal(err)
			}
		}
		writing.Go(func() {
			for !isDone.Load() {
				if err := c.step(t); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range readers {
		reading.Go(func() {
			random := rand.New(rand.NewPCG(10, uint64(i)))
			for range walks {
				p := inbox.Page{Size: []int{1, 3, 8, inbox.MaxPage}[random.IntN(4)], Backward: random.IntN(2) == 0}
				if p.Backward {
					// What arrives from now on would be read as well, and as fast as it is read.
					p.After = &inbox.Cursor{CreatedAt: time.Now().UTC().Truncate(time.Microsecond), ID: inbox.MaxUUID}
				}
				tag := []*string{nil, new("a"), new("b")}[random.IntN(3)]
				read := func(p inbox.Page) (places, error) {
					pages, err := pagesOf(store.ItemPages(t.Context(), []string{"u"}, p, tag))
					return pages["u"], err
				}
				checkReader(t, "items", m, p, read, func(e *entry) bool {
					return tag == nil || strings.Contains(e.category, *tag)
				})
			}
		})
	}
	reading.Wait()
	isDone.Store(true)
	writing.Wait()
	checkTags(t, connect(t, databaseURL))
	if got, want := value[int](t, connect(t, databaseURL), `SELECT count(*) FROM items`), m.len(); got != want {
		t.Errorf("got %d items at the end, want %d", got, want)
	}
}

package storage_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// randomItem returns one of few items of user u with some of few tags, at one of few instants or none.
func randomItem(random *rand.Rand) *inbox.ItemInput {
	in := tagged(fmt.Sprint("item ", random.IntN(2)), "")
	for _, n := range random.Perm(8)[:1+random.IntN(8)] {
		in.Tags = append(in.Tags, string(rune('a'+n)))
	}
	if random.IntN(2) == 0 {
		in.CreatedAt = new(moment.Add(time.Duration(random.IntN(4)) * time.Microsecond))
	}
	return in
}

// Over two pools, as two processes would, 16 goroutines put and delete the same items with other tags and at
// other times. Afterwards each has the tag rows that it says.
func TestPutItemConcurrently(t *testing.T) {
	t.Parallel()
	const goroutines, changes = 16, 150
	databaseURL := storagetest.URL(t)
	poolURL := withParam(t, databaseURL, "pool_max_conns", "8")
	stores := []*storage.Store{open(t, poolURL), open(t, poolURL)}
	conn := connect(t, databaseURL)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(8, uint64(g)))
			for range changes {
				in := randomItem(random)
				var err error
				if random.IntN(5) == 0 {
					_, err = stores[g%2].DeleteItem(t.Context(), "u", inbox.ItemUUID(in.ItemID))
				} else {
					_, err = stores[g%2].PutItem(t.Context(), in)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Nor is there a moment at which it is otherwise: a statement sees a whole transaction or nothing of it.
	isDone := make(chan struct{})
	go func() { wg.Wait(); close(isDone) }()
	for isOver := false; !isOver; {
		select {
		case <-isDone:
			isOver = true
		default:
		}
		checkTags(t, conn)
	}
	for _, itemID := range []string{"item 0", "item 1"} {
		put(t, stores[0], tagged(itemID, "last"))
	}
	checkTags(t, conn)
	if got := value[int](t, conn, `SELECT count(*) FROM item_tags`); got != 2 {
		t.Errorf("got %d tag rows at the end, want 2", got)
	}
	if got := value[int](t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); got != 0 {
		t.Errorf("got %d deadlocks, want none", got)
	}
}

// What waits for another change of a user's items sees it when its turn comes; changes of other users' do
// not wait.
func TestPutItemWaits(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store := open(t, databaseURL)
	conn, watcher := connect(t, databaseURL), connect(t, databaseURL)
	put(t, store, tagged("one", "a b"))
	for name, change := range map[string]func() error{
		"put":    func() error { _, err := store.PutItem(t.Context(), tagged("one", "x y")); return err },
		"delete": func() error { _, err := store.DeleteItem(t.Context(), "u", inbox.ItemUUID("one")); return err },
	} {
		exec(t, conn, `BEGIN`)
		exec(t, conn, `SELECT pg_advisory_xact_lock(hashtext('items'), hashtext('u'))`)
		exec(t, conn, `DELETE FROM item_tags`)
		exec(t, conn, `UPDATE items SET tags = '{c,d}'`)
		exec(t, conn, `INSERT INTO item_tags SELECT user_id, unnest(tags), created_at, id FROM items`)
		var err error
		var wg sync.WaitGroup
		wg.Go(func() { err = change() })
		waitForBlocked(t, watcher, 1)
		other := tagged("one", "z")
		other.UserID = name
		put(t, store, other)
		exec(t, conn, `COMMIT`)
		wg.Wait()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkTags(t, watcher)
		put(t, store, tagged("one", "a b"))
	}
}

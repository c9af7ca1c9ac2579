package storage_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// entry is what is known of one notification, or of one item.
type entry struct {
	category           string // of an item: its tags
	isRead, isArchived bool
	// touched is the time of the last change's begin or end, on the model's clock.
	touched int
	isBusy  bool
}

// model knows of every acknowledged notification of a user, and when something was done to it.
type model struct {
	mu      sync.Mutex
	clock   int                     // guarded by mu
	entries map[inbox.Cursor]*entry // guarded by mu; deleted ones are gone
}

// take picks a notification that nobody is changing, and marks it busy.
func (m *model) take() (inbox.Cursor, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, e := range m.entries {
		if !e.isBusy {
			m.clock++
			e.isBusy, e.touched = true, m.clock
			return at, true
		}
	}
	return inbox.Cursor{}, false
}

// put stores what has become of one that was taken, or is new.
func (m *model) put(at inbox.Cursor, change func(*entry), isDeleted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	if isDeleted {
		delete(m.entries, at)
		return
	}
	if m.entries[at] == nil {
		m.entries[at] = &entry{}
	}
	e := m.entries[at]
	change(e)
	e.touched, e.isBusy = m.clock, false
}

func (m *model) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries)
}

// begin returns the time at which a reader begins.
func (m *model) begin() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	return m.clock
}

// unchangedSince returns what has been in a list since a time, in full.
func (m *model) unchangedSince(begin int, isIn func(*entry) bool) []inbox.Cursor {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []inbox.Cursor
	for at, e := range m.entries {
		if !e.isBusy && e.touched < begin && isIn(e) {
			list = append(list, at)
		}
	}
	return list
}

// passes reports whether a notification in that state passes a filter.
func (e *entry) passes(f inbox.Filter) bool {
	n := &inbox.Notification{Category: e.category}
	if e.isRead {
		read(n)
	}
	if e.isArchived {
		archived(n)
	}
	return matches(f, n)
}

// writer does one random thing after another to the user's notifications.
type writer struct {
	store  *storage.Store
	model  *model
	random *rand.Rand
	name   string
	count  int
}

// feedSize is about how many notifications there are at any time.
const feedSize = 250

func (w *writer) step(t *testing.T) error {
	what := w.random.IntN(6)
	if w.random.IntN(3) == 0 {
		if w.model.len() < feedSize {
			return w.insert(t)
		}
		what = 0
	}
	at, ok := w.model.take()
	if !ok {
		return nil
	}
	var err error
	change := func(*entry) {}
	one := []inbox.Cursor{at}
	switch what {
	case 0:
		_, err = w.store.DeleteNotifications(t.Context(), "u", one)
	case 1:
		_, err = w.store.Archive(t.Context(), "u", one)
		change = func(e *entry) { e.isArchived = true }
	case 2:
		_, err = w.store.Unarchive(t.Context(), "u", one)
		change = func(e *entry) { e.isArchived = false }
	case 3, 4:
		_, err = w.store.MarkRead(t.Context(), "u", one)
		change = func(e *entry) { e.isRead = true }
	default:
		_, err = w.store.MarkUnread(t.Context(), "u", one)
		change = func(e *entry) { e.isRead = false }
	}
	w.model.put(at, change, what == 0)
	return err
}

// insert dispatches at the server's time, or in the past at one of few instants, which many share.
func (w *writer) insert(t *testing.T) error {
	w.count++
	e := event(fmt.Sprint(w.name, w.count), "u")
	e.Category = string(rune('a' + w.random.IntN(2)))
	if w.random.IntN(3) > 0 {
		e.OccurredAt = new(moment.Add(time.Duration(w.random.IntN(12)) * time.Microsecond))
	}
	results, err := w.store.Dispatch(t.Context(), e)
	if err != nil {
		return err
	}
	w.model.put(results[0].Position, func(n *entry) { n.category = e.Category }, false)
	return nil
}

// checkReader walks over a whole list and reports what is repeated, out of order or, of what was there all
// the time, skipped.
func checkReader(
	t *testing.T, name string, m *model, p inbox.Page, read func(inbox.Page) (places, error), isIn func(*entry) bool,
) {
	name += ", " + pageName(p)
	// What was written after the bound was chosen, and before the walk begins, lies beyond it.
	isInRange := func(inbox.Cursor) bool { return true }
	if bound := p.After; bound != nil {
		isInRange = func(at inbox.Cursor) bool { return at.Compare(*bound) < 0 }
	}
	begin := m.begin()
	seen := map[inbox.Cursor]bool{}
	var last *inbox.Cursor
	for more := true; more; {
		got, err := read(p)
		if err != nil {
			t.Error(err)
			return
		}
		for i := range got.Rows {
			at := got.Rows[i]
			want := -1 // newest first
			if p.Backward {
				at, want = got.Rows[len(got.Rows)-1-i], 1
			}
			if last != nil && at.Compare(*last) != want {
				t.Errorf("%s: %v is out of order after %v, or repeated", name, at, *last)
			}
			last, seen[at] = &at, true
		}
		if p.Backward {
			p.Before, more = last, got.Reach.HasPrevious
		} else {
			p.After, more = last, got.Reach.HasNext
		}
		if more && len(got.Rows) < p.Size {
			t.Errorf("%s: a page of %d rows says that there is more", name, len(got.Rows))
		}
	}
	for _, at := range m.unchangedSince(begin, isIn) {
		if isInRange(at) && !seen[at] {
			t.Errorf("%s: %v was there all the time and is skipped", name, at)
		}
	}
}

// T-28: while writers insert, delete and change states, a reader meets everything that is in its list
// throughout exactly once, in order.
func TestFeedWhileWriting(t *testing.T) {
	t.Parallel()
	const writers, readers, walks = 8, 4, 60
	store := open(t, withParam(t, storagetest.URL(t), "pool_max_conns", "12"))
	m := &model{entries: map[inbox.Cursor]*entry{}}
	var isDone atomic.Bool
	var writing, reading sync.WaitGroup
	var writes atomic.Int64
	for i := range writers {
		w := &writer{store: store, model: m, random: rand.New(rand.NewPCG(4, uint64(i))), name: fmt.Sprint(i, "/")}
		for m.len() < (i+1)*feedSize/writers {
			if err := w.insert(t); err != nil {
				t.Fatal(err)
			}
		}
		writing.Go(func() {
			for !isDone.Load() {
				if err := w.step(t); err != nil {
					t.Error(err)
					return
				}
				writes.Add(1)
			}
		})
	}
	sizes := []int{1, 2, 3, 5, 8, 20, 50, inbox.MaxPage}
	for i := range readers {
		reading.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(i)))
			for walk := range walks {
				p := inbox.Page{Size: sizes[walk%len(sizes)], Backward: random.IntN(2) == 0}
				if p.Backward {
					// What arrives from now on would be read as well, and as fast as it is read.
					p.After = &inbox.Cursor{CreatedAt: time.Now().UTC().Truncate(time.Microsecond), ID: inbox.MaxUUID}
				}
				f := inbox.Filter{}
				if random.IntN(3) > 0 {
					f.Status = new([]inbox.Status{inbox.StatusRead, inbox.StatusUnread}[random.IntN(2)])
				}
				if random.IntN(3) > 0 {
					f.Archived = new(random.IntN(2) == 0)
				}
				if random.IntN(3) == 0 {
					f.Categories = []string{"a"}
				}
				read := func(p inbox.Page) (places, error) {
					pages, err := store.FeedPages(t.Context(), []string{"u"}, p, f)
					return placesOf(pages["u"].Rows, pages["u"].Reach), err
				}
				checkReader(t, feedName(f), m, p, read, func(e *entry) bool { return e.passes(f) })
			}
		})
	}
	reading.Wait()
	isDone.Store(true)
	writing.Wait()
	if writes.Load() < 100 {
		t.Errorf("got %d writes meanwhile, want enough to prove something", writes.Load())
	}
	t.Logf("%d writes during %d walks", writes.Load(), readers*walks)
	// Nobody writes any more: the model must be what the database holds.
	got, want := len(walk(t, store, "u", inbox.Page{Size: 1}, inbox.Filter{})), m.len()
	if got != want {
		t.Errorf("got %d notifications at the end, want %d", got, want)
	}
}

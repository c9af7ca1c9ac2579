package storage_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// A claim that another transaction holds open is neither there nor absent. The INSERT waits for it, and what
// became of it is beyond the statement's snapshot.
func TestDispatchRace(t *testing.T) {
	t.Parallel()
	other := inbox.Cursor{CreatedAt: moment, ID: numbered(7)}
	changed := event("run", "b")
	changed.Title = "other"
	for name, tt := range map[string]struct {
		claimed *inbox.Event
		end     string
		want    inbox.DispatchStatus
	}{
		"committed":         {event("run", "b"), `COMMIT`, inbox.Duplicate},
		"committed another": {changed, `COMMIT`, inbox.Conflict},
		"rolled back":       {event("run", "b"), `ROLLBACK`, inbox.Created},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, recorder := traced(t, databaseURL)
			conn, watcher := connect(t, databaseURL), connect(t, databaseURL)
			exec(t, conn, `BEGIN`)
			hash := tt.claimed.ContentHash()
			exec(t, conn, `INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
				VALUES ('b', $1, $2, $3, $4)`, tt.claimed.KeyPrefix()+"b", hash[:], other.CreatedAt, other.ID.String())

			var results []*inbox.DispatchResult
			var err error
			var wg sync.WaitGroup
			wg.Go(func() { results, err = store.Dispatch(t.Context(), event("run", "c", "b", "a")) })
			waitForBlocked(t, watcher, 1)
			exec(t, conn, tt.end)
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			wantStatuses(t, results, "c CREATED", "b "+string(tt.want), "a CREATED")
			if tt.want == inbox.Created {
				return
			}
			if diff := cmp.Diff(other, results[1].Position); diff != "" {
				t.Errorf("position (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Dispatch", "ClaimsByKey"}, recorder.names()); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
		})
	}
}

// pair is an event and one of its recipients.
type pair struct {
	event     int
	recipient string
}

// tally is what dispatchers were told.
type tally struct {
	mu      sync.Mutex
	created map[pair]int                   // guarded by mu
	told    map[pair]map[inbox.Cursor]bool // guarded by mu
}

func (y *tally) add(event int, results []*inbox.DispatchResult) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, r := range results {
		p := pair{event, r.Recipient}
		if r.Status == inbox.Created {
			y.created[p]++
		}
		if y.told[p] == nil {
			y.told[p] = map[inbox.Cursor]bool{}
		}
		y.told[p][r.Position] = true
	}
}

// Over two pools, as two processes would, 64 goroutines dispatch the same events to recipients of which many
// are the same.
func TestDispatchConcurrently(t *testing.T) {
	t.Parallel()
	const events, recipients, goroutines = 1000, 12, 64
	const dispatchers, window = 8, 40 // of each event, and the events among which each shuffles
	databaseURL := storagetest.URL(t)
	poolURL := withParam(t, databaseURL, "pool_max_conns", "16")
	stores := []*storage.Store{open(t, poolURL), open(t, poolURL)}
	tally := &tally{created: map[pair]int{}, told: map[pair]map[inbox.Cursor]bool{}}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			order := random.Perm(window)
			for i := range events {
				// In windows, so that those who dispatch an event meet over it.
				i = i/window*window + order[i%window]
				if i%(goroutines/dispatchers) != g%(goroutines/dispatchers) {
					continue
				}
				e := event(fmt.Sprint(i))
				for _, r := range random.Perm(recipients)[:1+random.IntN(recipients)] {
					e.Recipients = append(e.Recipients, fmt.Sprint("user ", r))
				}
				results, err := stores[g%2].Dispatch(t.Context(), e)
				if err != nil {
					t.Error(err)
					return
				}
				tally.add(i, results)
			}
		})
	}
	wg.Wait()
	for p, positions := range tally.told {
		if created := tally.created[p]; created != 1 || len(positions) != 1 {
			t.Errorf("event %d, %s: got %d times CREATED and %d positions, want 1 and 1",
				p.event, p.recipient, created, len(positions))
		}
	}
	conn := connect(t, databaseURL)
	for _, table := range []string{"claims", "notifications"} {
		if got, want := value[int](t, conn, `SELECT count(*) FROM `+table), len(tally.told); got != want {
			t.Errorf("%s: got %d rows, want %d", table, got, want)
		}
	}
	if got := value[int](t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); got != 0 {
		t.Errorf("got %d deadlocks, want none", got)
	}
}

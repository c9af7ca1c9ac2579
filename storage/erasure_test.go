package storage_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/storage"
	"belfry/storage/storagetest"
)

// What others are writing when the last step of an erasure comes by: it waits for them, and then removes what
// they have left too, or what is theirs stays.
func TestFinishErasureWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile []string
		left      map[string]int // rows by table, of anybody
	}{
		"a plan has taken the queue": {
			[]string{
				`DELETE FROM push_queue`,
				`INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state)
					SELECT n.user_id, n.created_at, n.id, d.id, 'EXPO', 'queued' FROM notifications n, devices d`,
			},
			map[string]int{},
		},
		"a put has new tags": {
			[]string{
				`UPDATE items SET tags = '{new}'`, `DELETE FROM item_tags`,
				`INSERT INTO item_tags SELECT user_id, 'new', created_at, id FROM items`,
			},
			map[string]int{},
		},
		"a device's token moves to another": {
			[]string{`UPDATE devices SET user_id = 'dara', id = gen_random_uuid()`},
			map[string]int{"devices": 1},
		},
		"an account is changed": {
			[]string{`UPDATE accounts SET display_name = 'other'`},
			map[string]int{},
		},
		"a notification is marked read": {
			[]string{`UPDATE notifications SET read_at = now()`},
			map[string]int{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn, watcher := open(t, databaseURL), connect(t, databaseURL), connect(t, databaseURL)
			register(t, store, "ada", phone("one"))
			dispatch(t, store, event("run", "ada"))
			exec(t, conn, `INSERT INTO accounts VALUES ('ada', NULL, 'Ada', NULL, now());
				INSERT INTO items VALUES ('ada', gen_random_uuid(), 'item', 'title', NULL, NULL, '{old}', now());
				INSERT INTO item_tags SELECT user_id, 'old', created_at, id FROM items`)
			exec(t, conn, `BEGIN`)
			for _, sql := range tt.meanwhile {
				exec(t, conn, sql)
			}
			finished := make(chan error, 1)
			go func() {
				e, err := store.BeginErasure(t.Context(), "ada")
				if err == nil {
					_, _, err = store.FinishErasure(t.Context(), e)
				}
				finished <- err
			}()
			waitForBlocked(t, watcher, 1)
			exec(t, conn, `COMMIT`)
			if err := <-finished; err != nil {
				t.Fatal(err)
			}
			left := map[string]int{}
			for _, table := range []string{
				"notifications", "claims", "push_queue", "push_deliveries", "devices", "items", "item_tags", "accounts", "erasures",
			} {
				if n := value[int](t, conn, `SELECT count(*) FROM `+table); n > 0 {
					left[table] = n
				}
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// A dispatch that the last step of an erasure can't see yet is there as a whole afterwards.
func TestFinishErasureLeavesADispatchWhole(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn, watcher := open(t, databaseURL), connect(t, databaseURL), connect(t, databaseURL)
	// It has written to ada when it waits for bela's claim.
	exec(t, conn, `BEGIN`)
	e := event("run", "bela")
	hash := e.ContentHash()
	exec(t, conn, `INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
		VALUES ('bela', $1, $2, now(), gen_random_uuid())`, e.KeyPrefix()+"bela", hash[:])
	done := make(chan error, 1)
	go func() {
		_, err := store.Dispatch(t.Context(), event("run", "ada", "bela"))
		done <- err
	}()
	waitForBlocked(t, watcher, 1)
	erasure, err := store.BeginErasure(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.FinishErasure(t.Context(), erasure); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, `ROLLBACK`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	const whole = `SELECT count(*) FROM notifications n JOIN claims c
		ON (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id) WHERE n.user_id = 'ada'`
	if got := value[int](t, conn, whole); got != 1 {
		t.Errorf("got %d notifications with a claim, want 1", got)
	}
}

// A step of an erasure that has come to its end elsewhere says so.
func TestErasureEndsOnce(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	one, err := store.BeginErasure(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	two, err := store.BeginErasure(t.Context(), "ada")
	if err != nil || two.ID != one.ID {
		t.Fatalf("begun twice: got %s and %s, %v, want one", one.ID, two.ID, err)
	}
	if _, _, err := store.FinishErasure(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.FinishErasure(t.Context(), two); !errors.Is(err, storage.ErrErased) {
		t.Errorf("finished again: got %v, want %v", err, storage.ErrErased)
	}
	if _, err := store.ForgetActor(t.Context(), two); !errors.Is(err, storage.ErrErased) {
		t.Errorf("a step afterwards: got %v, want %v", err, storage.ErrErased)
	}
}

// The search for an actor goes on where it was, in any process.
func TestForgetActorGoesOn(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	fill(t, conn, "bela", "c", 5000)
	exec(t, conn, `UPDATE notifications SET actor_id = 'ada'`)
	forgotten := 0
	steps := 0
	for isLast := false; !isLast; steps++ {
		// Each step by another process, of which the one before has kept its place only as it took its next step.
		e, err := store.BeginErasure(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, err := store.ForgetActor(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			forgotten += f.Rows
			if isLast = f.IsLast; isLast {
				break
			}
		}
	}
	if forgotten != 5000 || steps < 2 {
		t.Errorf("got %d forgotten in %d goes, want 5000 in 2 or more", forgotten, steps)
	}
	if got := value[int](t, conn, `SELECT count(*) FROM notifications WHERE actor_id IS NOT NULL`); got != 0 {
		t.Errorf("got %d with an actor, want none", got)
	}
}

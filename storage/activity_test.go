package storage_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// keyed returns an activity of user u with that key, which may be empty for none.
func keyed(key, verb string) *inbox.ActivityInput {
	in := &inbox.ActivityInput{UserID: "u", Verb: verb}
	if key != "" {
		in.IdempotencyKey = &key
	}
	return in
}

// record records an activity that is no conflict.
func record(t testing.TB, store *storage.Store, in *inbox.ActivityInput, ttl time.Duration) *inbox.Activity {
	t.Helper()
	a, ok, err := store.RecordActivity(t.Context(), in, ttl)
	if err != nil || !ok {
		t.Fatalf("got %t, %v, want the activity", ok, err)
	}
	return a
}

// activities reads a user's first page.
func activities(t testing.TB, store *storage.Store, userID string) []*inbox.Activity {
	t.Helper()
	pages, err := store.ActivityPages(t.Context(), []string{userID}, inbox.Page{Size: inbox.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return pages[userID].Rows
}

func TestRecordActivity(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	full := keyed("key", "opened")
	full.Object, full.URL, full.Data = new("issue 7"), new("https://example.com/7"), json.RawMessage(`{"b": 1, "a": 1.0}`)
	full.OccurredAt, full.ExpiresAt = new(moment), new(moment.Add(time.Hour))
	got := record(t, store, full, time.Minute)
	want := &inbox.Activity{
		UserID: "u", CreatedAt: moment, ID: got.ID, Verb: "opened", Object: full.Object, URL: full.URL, Data: full.Data,
		ExpiresAt: full.ExpiresAt,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]*inbox.Activity{want}, activities(t, store, "u")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	t.Run("the time to live", func(t *testing.T) {
		for ttl, want := range map[time.Duration]*time.Time{0: nil, time.Hour: new(moment.Add(time.Hour))} {
			in := keyed("", "verb")
			in.OccurredAt = new(moment)
			if diff := cmp.Diff(want, record(t, store, in, ttl).ExpiresAt); diff != "" {
				t.Errorf("expires at with %s (-want +got):\n%s", ttl, diff)
			}
		}
		now := record(t, store, keyed("", "verb"), time.Hour)
		checkNow(t, "created at", now.CreatedAt)
		if diff := cmp.Diff(now.CreatedAt.Add(time.Hour), *now.ExpiresAt); diff != "" {
			t.Errorf("expires at (-want +got):\n%s", diff)
		}
	})
	t.Run("what has expired is listed until it is removed", func(t *testing.T) {
		in := keyed("", "verb")
		in.UserID, in.OccurredAt, in.ExpiresAt = "past", new(moment.AddDate(-1, 0, 0)), new(moment.AddDate(-1, 0, 1))
		record(t, store, in, 0)
		if got := len(activities(t, store, "past")); got != 1 {
			t.Errorf("got %d activities, want 1", got)
		}
	})
}

func TestRecordActivityAgain(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	conn := connect(t, databaseURL)
	first := record(t, store, keyed("key", "verb"), time.Hour)
	recorder.take()
	for name, tt := range map[string]struct {
		in         *inbox.ActivityInput
		ok         bool
		want       *inbox.Activity
		statements []string
	}{
		"the same":      {keyed("key", "verb"), true, first, []string{"RecordActivity"}},
		"other content": {keyed("key", "other"), false, nil, []string{"RecordActivity"}},
	} {
		got, ok, err := store.RecordActivity(t.Context(), tt.in, time.Minute) // the stored one keeps its own
		if err != nil || ok != tt.ok {
			t.Errorf("%s: got %t, %v, want %t", name, ok, err, tt.ok)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.statements, recorder.names()); diff != "" {
			t.Errorf("%s: statements (-want +got):\n%s", name, diff)
		}
		if got := value[int](t, conn, `SELECT count(*) FROM activities`); got != 1 {
			t.Errorf("%s: got %d rows, want 1", name, got)
		}
	}
	// Keys are a user's own, and those of events are others.
	another := keyed("key", "verb")
	another.UserID = "v"
	record(t, store, another, 0)
	e := event("run", "u")
	e.RunID, e.IdempotencyKey = nil, new("key")
	wantStatuses(t, dispatch(t, store, e), "u CREATED")

	// What was recorded has expired and was removed: the claim stands.
	exec(t, conn, `DELETE FROM activities WHERE user_id = 'u'`)
	if got := record(t, store, keyed("key", "verb"), 0); got != nil {
		t.Errorf("after it was removed: got %+v, want nil", got)
	}
	if got := len(activities(t, store, "u")); got != 0 {
		t.Errorf("after it was removed: got %d activities, want none", got)
	}
	claims := value[int](t, conn, `SELECT count(*) FROM claims`)
	for range 2 { // without a key each call writes one
		record(t, store, keyed("", "verb"), 0)
	}
	if got := len(activities(t, store, "u")); got != 2 {
		t.Errorf("without a key: got %d activities, want 2", got)
	}
	if got := value[int](t, conn, `SELECT count(*) FROM claims`); got != claims {
		t.Errorf("without a key: got %d claims, want %d as before", got, claims)
	}
}

// A claim that another transaction holds open is neither there nor absent; see TestDispatchRace.
func TestRecordActivityRace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		claimed    *inbox.ActivityInput
		end        string
		ok, isNew  bool
		statements []string
	}{
		"committed":         {keyed("key", "verb"), `COMMIT`, true, false, []string{"RecordActivity", "ActivityByClaim"}},
		"committed another": {keyed("key", "other"), `COMMIT`, false, false, []string{"RecordActivity", "ActivityByClaim"}},
		"rolled back":       {keyed("key", "verb"), `ROLLBACK`, true, true, []string{"RecordActivity"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, recorder := traced(t, databaseURL)
			conn, watcher := connect(t, databaseURL), connect(t, databaseURL)
			other := &inbox.Activity{UserID: "u", CreatedAt: moment, ID: numbered(7), Verb: "verb"}
			hash := tt.claimed.ContentHash()
			exec(t, conn, `BEGIN`)
			exec(t, conn, `INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id) VALUES ('u', $1, $2, $3, $4)`,
				*tt.claimed.Key(), hash[:], other.CreatedAt, other.ID.String())
			exec(t, conn, `INSERT INTO activities (user_id, created_at, id, verb) VALUES ('u', $1, $2, 'verb')`,
				other.CreatedAt, other.ID.String())
			var got *inbox.Activity
			var ok bool
			var err error
			var wg sync.WaitGroup
			wg.Go(func() { got, ok, err = store.RecordActivity(t.Context(), keyed("key", "verb"), 0) })
			waitForBlocked(t, watcher, 1)
			exec(t, conn, tt.end)
			wg.Wait()
			if err != nil || ok != tt.ok {
				t.Errorf("got %t, %v, want %t", ok, err, tt.ok)
			}
			want := other
			if tt.isNew {
				want = &inbox.Activity{UserID: "u", Verb: "verb"}
			} else if !tt.ok {
				want = nil
			}
			compare := cmp.Options{}
			if tt.isNew {
				compare = append(compare, cmpopts.IgnoreFields(inbox.Activity{}, "CreatedAt", "ID"))
			}
			if diff := cmp.Diff(want, got, compare); diff != "" {
				t.Errorf("activity (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.statements, recorder.names()); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
		})
	}
}

// Over two pools, as two processes would, 32 goroutines record the same activities.
func TestRecordActivityConcurrently(t *testing.T) {
	t.Parallel()
	const keys, goroutines = 100, 32
	databaseURL := storagetest.URL(t)
	poolURL := withParam(t, databaseURL, "pool_max_conns", "16")
	stores := []*storage.Store{open(t, poolURL), open(t, poolURL)}
	var told [goroutines][keys]inbox.UUID
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for k := range keys {
				a, ok, err := stores[g%2].RecordActivity(t.Context(), keyed(fmt.Sprint(k), "verb"), 0)
				if err != nil || !ok {
					t.Errorf("key %d: got %t, %v", k, ok, err)
					return
				}
				told[g][k] = a.ID
			}
		})
	}
	wg.Wait()
	for g := range goroutines {
		if told[g] != told[0] {
			t.Errorf("goroutine %d was told other ids than the first", g)
		}
	}
	conn := connect(t, databaseURL)
	for _, table := range []string{"claims", "activities"} {
		if got := value[int](t, conn, `SELECT count(*) FROM `+table); got != keys {
			t.Errorf("%s: got %d rows, want %d", table, got, keys)
		}
	}
}

// Keys find activities one by one; ids of other kinds, of other users and of no row are passed over.
func TestActivities(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	a := record(t, store, keyed("", "verb"), 0)
	id := func(user string, kind inbox.Kind, at inbox.Cursor) inbox.NodeID {
		return inbox.NodeID{Kind: kind, UserID: user, Position: at}
	}
	got, err := store.Activities(t.Context(), []inbox.NodeID{
		id("u", inbox.KindActivity, a.Cursor()), id("u", inbox.KindActivity, a.Cursor()), id("v", inbox.KindActivity, a.Cursor()),
		id("u", inbox.KindNotification, a.Cursor()), id("u", inbox.KindActivity, a.Cursor().JustAbove()),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]*inbox.Activity{a.NodeID(): a}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

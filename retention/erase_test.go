package retention_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/retention"
)

// traces gives a user something in every table, and makes them the actor of others' notifications.
func (r *rig) traces(t testing.TB, userID string) {
	t.Helper()
	ctx := t.Context()
	device := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: "ExponentPushToken[" + userID + "]"}
	if _, ok, err := r.store.RegisterDevice(ctx, userID, device); err != nil || !ok {
		t.Fatalf("device: %v, %v", ok, err)
	}
	r.dispatch(t, "sent to "+userID, nil, userID, "other")
	r.plan(t, userID)
	r.dispatch(t, "queued for "+userID, nil, userID, "other")
	r.dispatch(t, "caused by "+userID, &userID, "other", "yet another")
	err := r.store.PutAccount(ctx, inbox.AccountInput{UserID: userID, DisplayName: "name"})
	if err == nil {
		_, err = r.store.UpdateSettings(ctx, userID, inbox.SettingsChange{})
	}
	if err == nil {
		_, _, err = r.store.SetPreference(ctx, userID, inbox.Preference{Category: "c", Channel: inbox.ChannelPush})
	}
	if err == nil {
		err = r.store.MarkSeen(ctx, userID, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.exec(t, `INSERT INTO settings VALUES ($1, NULL, NULL, NULL, NULL, now()) ON CONFLICT DO NOTHING`, userID)
	r.exec(t, `INSERT INTO activities (user_id, created_at, id, verb) VALUES ($1, now(), gen_random_uuid(), 'did')`, userID)
	r.exec(t, `INSERT INTO items VALUES ($1, gen_random_uuid(), 'item', 'title', NULL, NULL, '{a,b}', now())`, userID)
	r.exec(t, `INSERT INTO item_tags SELECT user_id, unnest(tags), created_at, id FROM items WHERE user_id = $1`, userID)
}

// plan plans what is queued for a user, without a worker.
func (r *rig) plan(t testing.TB, userID string) {
	t.Helper()
	queued, err := r.store.ClaimPushes(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queued {
		if q.UserID != userID {
			continue
		}
		if _, err := r.store.PlanPushes(t.Context(), []int64{q.ID}, nil, true); err != nil {
			t.Fatal(err)
		}
	}
}

// rows returns how many rows each table with a user_id has of a user: of every such table, so that a new one
// is missed here first.
func (r *rig) rows(t testing.TB, userID string) map[string]int {
	t.Helper()
	tables := value[[]string](t, r, `SELECT array_agg(c.table_name::text) FROM information_schema.columns c
		WHERE c.table_schema = 'public' AND c.column_name = 'user_id'`)
	counts := map[string]int{}
	for _, table := range tables {
		counts[table] = value[int](t, r, `SELECT count(*) FROM `+table+` WHERE user_id = $1`, userID)
	}
	return counts
}

// wantNoTrace checks that nothing is left of a user.
func (r *rig) wantNoTrace(t testing.TB, userID string) {
	t.Helper()
	for table, n := range r.rows(t, userID) {
		if n > 0 {
			t.Errorf("%s: got %d rows of %s left, want none", table, n, userID)
		}
	}
	if n := value[int](t, r, `SELECT count(*) FROM notifications WHERE actor_id = $1`, userID); n > 0 {
		t.Errorf("got %s as the actor of %d, want none", userID, n)
	}
}

func TestEraseUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.traces(t, "ada")
	r.traces(t, "dara")
	for table, n := range r.rows(t, "ada") {
		if n == 0 && table != "erasures" {
			t.Errorf("the test leaves no trace of ada in %s", table)
		}
	}
	daras, others := r.rows(t, "dara"), r.rows(t, "other")
	r.told.take()
	r.erase(t, "ada")
	r.wantNoTrace(t, "ada")
	if diff := cmp.Diff(daras, r.rows(t, "dara")); diff != "" {
		t.Errorf("dara's rows (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(others, r.rows(t, "other")); diff != "" {
		t.Errorf("another's rows (-before +after):\n%s", diff)
	}
	if got := value[int](t, r, `SELECT count(*) FROM notifications WHERE actor_id = 'dara'`); got != 2 {
		t.Errorf("got dara as the actor of %d, want 2", got)
	}
	if diff := cmp.Diff([]string{"ada", "other", "yet another"}, r.told.take()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	r.erase(t, "ada")
	r.erase(t, "nobody")
}

// The line in the log says what went and names nobody.
func TestEraseUserAudit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.traces(t, "ada")
	r.erase(t, "ada")
	log := r.log.String()
	line := regexp.MustCompile(`(?m)^.*level=INFO msg="user erased" erasure_id=[0-9a-f-]{36} duration_ms=\d+ removed="map\[(.*)\]" actor_of=2$`).
		FindStringSubmatch(log)
	if line == nil || strings.Count(log, "\n") != 1 {
		t.Fatalf("log:\n%s", log)
	}
	want := "accounts:1 activities:1 claims:2 devices:1 item_tags:2 items:1 notifications:2 preferences:1 push_deliveries:1 " +
		"push_queue:1 seen_watermarks:1 settings:1"
	if diff := cmp.Diff(want, line[1]); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if strings.Contains(log, "ada") {
		t.Errorf("the log names the user: %s", log)
	}
}

// More than a batch of each kind.
func TestEraseUserWithMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(t, `
		INSERT INTO notifications (user_id, created_at, id, kind, category, title, actor_id)
		SELECT u, now() - i / 3 * interval '1 s', gen_random_uuid(), 'k', 'c', 't', CASE WHEN i % 1000 = 0 THEN 'ada' END
		FROM generate_series(1, 11000) i, unnest(ARRAY['ada', 'other']) u;
		INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
		SELECT user_id, 'key' || id, '', created_at, id FROM notifications;
		INSERT INTO push_queue (user_id, notification_at, notification_id, category)
		SELECT user_id, created_at, id, 'c' FROM notifications;
		INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state)
		SELECT user_id, created_at, id, gen_random_uuid(), 'EXPO', 'queued' FROM notifications;
		INSERT INTO activities (user_id, created_at, id, verb) SELECT user_id, created_at, id, 'did' FROM notifications;
		INSERT INTO items SELECT user_id, id, id::text, 't', NULL, NULL, '{}', created_at FROM notifications;
		INSERT INTO item_tags SELECT user_id, left(id::text, 1), created_at, id FROM items`)
	others := r.rows(t, "other")
	r.erase(t, "ada")
	r.wantNoTrace(t, "ada")
	if diff := cmp.Diff(others, r.rows(t, "other")); diff != "" {
		t.Errorf("another's rows (-before +after):\n%s", diff)
	}
}

// An erasure that takes too long says so, and goes on.
func TestEraseUserTakesLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.traces(t, "ada")
	lock := connect(t, r.databaseURL)
	for _, sql := range []string{`BEGIN`, `SELECT FROM notifications WHERE user_id = 'ada' FOR UPDATE`} {
		if _, err := lock.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	j := r.janitor(retention.Config{EraseTimeout: 100 * time.Millisecond, ErasureIdle: 100 * time.Millisecond})
	err := j.EraseUser(t.Context(), "ada")
	if inbox.ErrorCode(err) != inbox.Unavailable || !strings.Contains(fmt.Sprint(err), "the server finishes it") {
		t.Errorf("got %v, want %s", err, inbox.Unavailable)
	}
	run(t, j)
	if _, err := lock.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the erasure is finished", func() bool {
		return value[int](t, r, `SELECT count(*) FROM erasures`) == 0
	})
	r.wantNoTrace(t, "ada")
	if got := strings.Count(r.log.String(), "user erased"); got != 1 {
		t.Errorf("got %d lines of it in the log, want 1:\n%s", got, r.log)
	}
}

// Many ask at once, here and there: all are answered when nothing is left, and one line says so.
func TestEraseUserTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 5 {
		r.traces(t, "ada")
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := r.janitor(retention.Config{}).EraseUser(t.Context(), "ada"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		r.wantNoTrace(t, "ada")
		r.exec(t, `DELETE FROM claims; DELETE FROM notifications`)
	}
	if n := value[int](t, r, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Errorf("got %d deadlocks, want none", n)
	}
}

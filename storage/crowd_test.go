package storage_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// Most of a crowd's notifications are in one state, and few of them, spread over all, in each of two others.
// One user has a million. The others have fewer, which saves time and makes the indexes no less deep.
const (
	few     = 10
	million = 1_000_000
	others  = 50_000
)

// crowd is a user with many notifications, numbered from 1, the oldest, to rows.
type crowd struct {
	userID string
	rows   int
}

var (
	unreadCrowd   = crowd{"unread", others}
	readCrowd     = crowd{"read", million}
	archivedCrowd = crowd{"archived", others}
	mixedCrowd    = crowd{"mixed", others}
)

// position returns the place of a user's notification.
func (c crowd) position(n int) *inbox.Cursor {
	return &inbox.Cursor{CreatedAt: moment.Add(time.Duration(n/3) * time.Second), ID: numbered(n)}
}

// crowded is a database in which plans matter.
type crowded struct {
	conn     *pgx.Conn
	store    *storage.Store
	recorder *recorder
}

// newCrowded seeds the database, which takes seconds: once for all plans.
func newCrowded(t *testing.T) *crowded {
	t.Helper()
	databaseURL := storagetest.URL(t)
	conn := connect(t, databaseURL)
	began := time.Now()
	exec(t, conn, `ALTER TABLE notifications SET UNLOGGED`) // which takes a third less
	for _, c := range []struct {
		crowd
		// i is the notification's number; k is 0 for few of all, and 1 for as many others.
		isRead, isArchived string
	}{
		{unreadCrowd, `k = 0 OR k = 1 AND i % 2 = 0`, `k = 1`},
		{readCrowd, `k <> 0`, `k = 1`},
		{archivedCrowd, `k <> 1`, `k <> 0`},
		{mixedCrowd, `i % 2 = 0`, `i % 4 > 1`},
	} {
		exec(t, conn, `INSERT INTO notifications (user_id, created_at, id, kind, category, title, read_at, archived_at)
			SELECT $1, $2::timestamptz + i / 3 * interval '1 second', lpad(to_hex(i), 32, '0')::uuid, 'kind', 'c', 'title',
			  CASE WHEN `+c.isRead+` THEN $2 END, CASE WHEN `+c.isArchived+` THEN $2 END
			FROM generate_series(1, $3::int) i, LATERAL (SELECT i % ($3 / $4::int)) k (k)`,
			c.userID, moment, c.rows, few)
	}
	exec(t, conn, `
		INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT 'light' || u, clock_timestamp(), gen_random_uuid(), 'kind', 'c', 'title'
		FROM generate_series(1, 3000) u, generate_series(1, 20);
		INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
		SELECT user_id, 'key' || id, '', created_at, id FROM notifications WHERE user_id LIKE 'light%';
		INSERT INTO accounts SELECT 'light' || u, NULL, 'name', NULL, now() FROM generate_series(1, 20000) u;
		INSERT INTO settings SELECT 'light' || u, NULL, NULL, NULL, NULL, now() FROM generate_series(1, 20000) u;
		INSERT INTO preferences SELECT 'light' || u, 'c' || c, 'PUSH', true
		FROM generate_series(1, 5000) u, generate_series(1, 5) c;
		INSERT INTO seen_watermarks SELECT 'light' || u, now(), gen_random_uuid(), gen_random_uuid()
		FROM generate_series(1, 20000) u;
		INSERT INTO devices (user_id, id, provider, token, token_hash)
		SELECT 'light' || u, gen_random_uuid(), 'EXPO', 'token' || u, sha256(('token' || u)::bytea) FROM generate_series(1, 20000) u;
		INSERT INTO push_queue (user_id, notification_at, notification_id, category)
		SELECT user_id, created_at, id, 'c' FROM notifications WHERE user_id LIKE 'light%' LIMIT 10000;
		INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state, due_at, leased_until,
		  sent_at, settled_at, created_at)
		SELECT 'light' || u, now(), gen_random_uuid(), gen_random_uuid(), 'EXPO', s.state, now() + u * interval '1 s',
		  CASE WHEN s.state = 'sending' THEN now() END, CASE WHEN s.state IN ('sent', 'delivered') THEN now() END,
		  CASE WHEN s.state = 'delivered' THEN now() END, now() - u * interval '1 s'
		FROM generate_series(1, 10000) u, (VALUES ('queued'), ('sending'), ('sent'), ('delivered'), ('delivered')) s (state)`)
	seedLists(t, conn)
	// What a commit that is not flushed has written would not become all-visible.
	exec(t, conn, `SET synchronous_commit = on`)
	exec(t, conn, `INSERT INTO claims VALUES ('flush', '', '', now(), gen_random_uuid())`)
	exec(t, conn, `VACUUM ANALYZE`)
	t.Logf("seeding took %s", time.Since(began).Round(time.Millisecond))
	store, recorder := traced(t, databaseURL)
	return &crowded{conn, store, recorder}
}

// sent runs a call and returns the statements that it has sent.
func (c *crowded) sent(t *testing.T, call func(context.Context, *storage.Store) error) []sent {
	t.Helper()
	c.recorder.take()
	if err := call(t.Context(), c.store); err != nil {
		t.Fatal(err)
	}
	return c.recorder.take()
}

// plans runs a call and returns the plans of its statements by their names; of several of one name, the
// last.
func (c *crowded) plans(t *testing.T, call func(context.Context, *storage.Store) error) map[string]plan {
	t.Helper()
	plans := map[string]plan{}
	for _, s := range c.sent(t, call) {
		plans[s.name] = explain(t, c.conn, s)
	}
	return plans
}

func TestPlans(t *testing.T) {
	t.Parallel()
	c := newCrowded(t)
	t.Run("T-71 a page costs the same at every depth", c.testDepth)
	t.Run("T-71 the shape of a page", c.testPageShape)
	t.Run("T-71 a page of any list costs the same at every depth", c.testListDepth)
	t.Run("T-71 the shape of a page of any list", c.testListShape)
	t.Run("T-71 a change of an item finds its tags", c.testTagRows)
	t.Run("T-71 a count reads what is unread alone", c.testCount)
	t.Run("T-71 no statement walks over a table", c.testScans)
	t.Run("the planner arrives at the generic plan by itself", c.testGenericPlan)
	t.Run("T-71 whatever the statistics say", c.testStatistics) // the last, for it leaves them altered
}

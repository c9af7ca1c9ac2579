package main

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// ledger is what clients were told: each notification's id, by the key of its event and recipient. It
// reports whoever is told something else than others were.
type ledger struct {
	mu      sync.Mutex
	ids     map[string]string // guarded by mu
	created map[string]bool   // guarded by mu: somebody was told that its call wrote the notification
}

func newLedger() *ledger { return &ledger{ids: map[string]string{}, created: map[string]bool{}} }

// add enters the answer to a dispatch of the run.
func (l *ledger) add(run string, results []result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []error
	for _, r := range results {
		key := claimKey(run, r.Recipient)
		if id, ok := l.ids[key]; ok && id != r.NotificationID {
			faults = append(faults, fmt.Errorf("%s: told %s and %s", key, id, r.NotificationID))
		}
		l.ids[key] = r.NotificationID
		switch {
		case r.Status == string(inbox.Created) && !l.created[key]:
			l.created[key] = true
		case r.Status != string(inbox.Duplicate):
			faults = append(faults, fmt.Errorf("%s: %s where the notification was there already: %t", key, r.Status, l.created[key]))
		}
	}
	return errors.Join(faults...)
}

// size returns how many notifications clients know of.
func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids)
}

// check compares what clients were told with what is in the database.
func (l *ledger) check(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(l.ids, stored(t, conn)); diff != "" {
		t.Errorf("notifications (-told +stored):\n%.4000s", diff)
	}
	const orphans = `SELECT count(*) FROM notifications n WHERE NOT EXISTS (
		SELECT FROM claims c WHERE (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id))`
	if n := count(t, conn, orphans); n > 0 {
		t.Errorf("%d notifications without a claim", n)
	}
	const promises = `SELECT count(*) FROM claims c WHERE NOT EXISTS (
		SELECT FROM notifications n WHERE (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id))`
	if n := count(t, conn, promises); n > 0 {
		t.Errorf("%d claims without a notification", n)
	}
	if n := count(t, conn, `SELECT count(*) FROM notifications`); n != len(l.ids) {
		t.Errorf("%d notifications, want %d", n, len(l.ids))
	}
}

// stored returns the id of every notification that is there, by its claim's key.
func stored(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	const sql = `SELECT c.key, n.user_id, n.created_at, n.id FROM claims c
		JOIN notifications n ON (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id)`
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	var key, user string
	var position inbox.Cursor
	_, err = pgx.ForEachRow(rows, []any{&key, &user, &position.CreatedAt, (*[16]byte)(&position.ID)}, func() error {
		ids[key] = inbox.NotificationID(user, position)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// replay dispatches everything once more, which must change nothing: every answer is the first one's.
func (l *ledger) replay(t *testing.T, c *client, runs []string) {
	t.Helper()
	for _, run := range runs {
		results, err := c.dispatch(t.Context(), run, shuffled()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Status != string(inbox.Duplicate) {
				t.Errorf("%s: %s at a replay", claimKey(run, r.Recipient), r.Status)
			}
		}
		if err := l.add(run, results); err != nil {
			t.Error(err)
		}
	}
}

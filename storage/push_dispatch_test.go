package storage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// A push is queued with the notification, for those alone who have a device that is on.
func TestDispatchQueues(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	for _, user := range []string{"device", "two devices", "disabled", "gone", "muted"} {
		register(t, store, user, phone(user))
	}
	register(t, store, "two devices", phone("second"))
	exec(t, conn, `UPDATE devices SET disabled_at = now(), disabled_reason = 'x' WHERE user_id = 'disabled'`)
	exec(t, conn, `DELETE FROM devices WHERE user_id = 'gone'`)
	off := inbox.Preference{Category: "c", Channel: inbox.ChannelInApp}
	if _, _, err := store.SetPreference(t.Context(), "muted", off); err != nil {
		t.Fatal(err)
	}
	queued := func() (users []string) {
		for _, q := range claimPushes(t, store, -1) {
			users = append(users, q.UserID)
		}
		return users
	}
	first := event("run", "device", "two devices", "disabled", "gone", "nobody", "muted")
	changed := event("run", first.Recipients...)
	changed.Title = "other"

	dispatch(t, store, first)
	if diff := cmp.Diff([]string{"device", "two devices"}, queued()); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	exec(t, conn, `DELETE FROM push_queue`)
	for name, again := range map[string]*inbox.Event{"duplicate": first, "conflict": changed} {
		dispatch(t, store, again)
		if diff := cmp.Diff([]string(nil), queued()); diff != "" {
			t.Errorf("%s: queued (-want +got):\n%s", name, diff)
		}
	}
}

func TestDispatchQueuesWithTheNotification(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	conn := connect(t, databaseURL)
	register(t, store, "a", phone("one"))
	recorder.take()
	at := place(t, store, event("run", "a"))
	statement := recorder.take()[0]
	const count = `SELECT (SELECT count(*) FROM notifications) + (SELECT count(*) FROM push_queue)`
	if got, want := value[int](t, conn, count), 2; got != want {
		t.Errorf("dispatched: got %d rows, want a notification and its push", got)
	}
	const same = `SELECT q.notification_at = $1 AND q.notification_id = $2 AND q.user_id = 'a' AND q.category = 'c' FROM push_queue q`
	if !value[bool](t, conn, same, at.CreatedAt, at.ID.String()) {
		t.Error("what is queued is another notification's")
	}

	exec(t, conn, `DELETE FROM push_queue; DELETE FROM notifications; DELETE FROM claims`)
	exec(t, conn, `BEGIN`)
	exec(t, conn, statement.sql, statement.args...)
	if got, want := value[int](t, conn, count), 2; got != want {
		t.Errorf("in the transaction: got %d rows, want %d", got, want)
	}
	exec(t, conn, `ROLLBACK`)
	if got, want := value[int](t, conn, count), 0; got != want {
		t.Errorf("rolled back: got %d rows, want %d", got, want)
	}
}

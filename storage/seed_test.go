package storage_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
)

// moment is an instant with microseconds, from which tests count.
var moment = time.Date(2026, 3, 14, 15, 9, 26, 535897000, time.UTC)

// numbered returns a UUID that sorts by its number and before every UUIDv7 of today.
func numbered(n int) inbox.UUID {
	var u inbox.UUID
	binary.BigEndian.PutUint64(u[8:], uint64(n))
	return u
}

// row returns an unread notification whose title is its number.
func row(userID string, n int, at time.Time) *inbox.Notification {
	return &inbox.Notification{
		UserID: userID, CreatedAt: at, ID: numbered(n), Kind: "kind", Category: "c", Title: fmt.Sprint(n),
	}
}

// read and archived return the notification in another state.
func read(n *inbox.Notification) *inbox.Notification {
	n.ReadAt = new(moment)
	return n
}

func archived(n *inbox.Notification) *inbox.Notification {
	n.ArchivedAt = new(moment)
	return n
}

// insert writes notifications past the store, at places of the test's choice.
func insert(t testing.TB, conn *pgx.Conn, rows ...*inbox.Notification) {
	t.Helper()
	columns := []string{"user_id", "created_at", "id", "kind", "category", "title", "read_at", "archived_at"}
	_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"notifications"}, columns,
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			n := rows[i]
			return []any{
				n.UserID, n.CreatedAt, [16]byte(n.ID), n.Kind, n.Category, n.Title, n.ReadAt, n.ArchivedAt,
			}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
}

// fill writes n unread notifications of a user, a second apart and older than moment. Their ids are, like
// numbered ones, older than those of today.
func fill(t testing.TB, conn *pgx.Conn, userID, category string, n int) {
	t.Helper()
	exec(t, conn, `INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT $1, $2::timestamptz - i * interval '1 second', ('00000000' || substr(gen_random_uuid()::text, 9))::uuid,
		  'kind', $3, i::text
		FROM generate_series(1, $4::int) i`, userID, moment, category, n)
}

// event returns an event of that run.
func event(run string, recipients ...string) *inbox.Event {
	return &inbox.Event{RunID: &run, Kind: "kind", Category: "c", Title: run, Recipients: recipients}
}

// eventAt returns an event that occurred at an instant.
func eventAt(run string, at time.Time, recipients ...string) *inbox.Event {
	e := event(run, recipients...)
	e.OccurredAt = &at
	return e
}

// dispatch dispatches an event.
func dispatch(t testing.TB, store *storage.Store, e *inbox.Event) []*inbox.DispatchResult {
	t.Helper()
	results, err := store.Dispatch(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// place dispatches an event to one user and returns where it stands in the feed.
func place(t testing.TB, store *storage.Store, e *inbox.Event) inbox.Cursor {
	t.Helper()
	r := dispatch(t, store, e)[0]
	if diff := cmp.Diff(inbox.Created, r.Status); diff != "" {
		t.Fatalf("status (-want +got):\n%s", diff)
	}
	return r.Position
}

// page reads a page of one user's feed.
func page(
	t testing.TB, store *storage.Store, userID string, p inbox.Page, f inbox.Filter,
) storage.Page[inbox.Notification] {
	t.Helper()
	pages, err := store.FeedPages(t.Context(), []string{userID}, p, f)
	if err != nil {
		t.Fatal(err)
	}
	return pages[userID]
}

// feed is what a user sees by default: at most a hundred that are not archived.
func feed(t testing.TB, store *storage.Store, userID string) []*inbox.Notification {
	t.Helper()
	return page(t, store, userID, inbox.Page{Size: inbox.MaxPage}, inbox.Filter{Archived: new(false)}).Rows
}

// unread is the list filtered to UNREAD.
func unread(t testing.TB, store *storage.Store, userID string) []*inbox.Notification {
	t.Helper()
	filter := inbox.Filter{Status: new(inbox.StatusUnread), Archived: new(false)}
	return page(t, store, userID, inbox.Page{Size: inbox.MaxPage}, filter).Rows
}

// titles are what tests compare pages by.
func titles(rows []*inbox.Notification) []string {
	list := make([]string, 0, len(rows))
	for _, n := range rows {
		list = append(list, n.Title)
	}
	return list
}

// badge reads one user's counters.
func badge(t testing.TB, store *storage.Store, userID string) inbox.Badge {
	t.Helper()
	badges, err := store.Badges(t.Context(), []string{userID})
	if err != nil {
		t.Fatal(err)
	}
	return badges[userID]
}

package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// sameCounts compares badges whenever they were read.
var sameCounts = cmp.Comparer(inbox.Badge.Shows)

func wantBadge(t *testing.T, store *storage.Store, userID string, unread, unseen int32) {
	t.Helper()
	if diff := cmp.Diff(inbox.Badge{Unread: unread, Unseen: unseen}, badge(t, store, userID), sameCounts); diff != "" {
		t.Errorf("badge (-want +got):\n%s", diff)
	}
}

func markSeen(t *testing.T, store *storage.Store, userID string, through *inbox.Cursor) {
	t.Helper()
	if err := store.MarkSeen(t.Context(), userID, through); err != nil {
		t.Fatal(err)
	}
}

func TestBadges(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	want := map[string]inbox.Badge{"nobody": {}}
	users := []string{"nobody"}
	for n, count := range map[int]int32{1: 1, 73: 73, 99: 99, 100: 100, 9998: 9998, 9999: 9999, 10_000: 9999, 12_000: 9999} {
		user := fmt.Sprint(n)
		fill(t, conn, user, "c", n)
		users = append(users, user)
		want[user] = inbox.Badge{Unread: count, Unseen: count}
	}
	got, err := store.Badges(t.Context(), users)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, sameCounts); diff != "" {
		t.Errorf("T-06 badges (-want +got):\n%s", diff)
	}
	for user, b := range want {
		want[user] = inbox.Badge{Unread: b.Unread}
	}
	if got, err = storage.Ask(t.Context(), store, users, (*storage.Batch).UnreadCounts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, sameCounts); diff != "" {
		t.Errorf("T-06 unread counts (-want +got):\n%s", diff)
	}
}

// After each change the badge is what the list filtered to UNREAD holds.
func TestBadgeFollows(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	var at []inbox.Cursor
	for n := range 3 {
		at = append(at, place(t, store, event(fmt.Sprint(n), "u")))
	}
	one, two := at[:1], at[1:2]
	change := func(what string, mark markFunc, positions []inbox.Cursor, want int32) {
		t.Helper()
		if _, err := mark(t.Context(), "u", positions); err != nil {
			t.Fatal(err)
		}
		if got := badge(t, store, "u").Unread; got != want {
			t.Errorf("%s: got %d unread, want %d", what, got, want)
		}
		if got := len(unread(t, store, "u")); got != int(want) {
			t.Errorf("%s: got %d in the list of unread, want %d", what, got, want)
		}
	}
	change("nothing", store.MarkRead, nil, 3)
	change("T-09 T-10 archive", store.Archive, one, 2)
	change("archive again", store.Archive, one, 2)
	change("T-10 unarchive", store.Unarchive, one, 3)
	change("read", store.MarkRead, two, 2)
	change("archive what is read", store.Archive, two, 2)
	change("unread what is archived", store.MarkUnread, two, 2)
	change("unarchive what is unread again", store.Unarchive, two, 3)
	change("read and archive", store.MarkRead, one, 2)
	change("T-10 archive what is read", store.Archive, one, 2)
	change("T-10 unarchive what is read", store.Unarchive, one, 2)
	if _, err := store.DeleteNotifications(t.Context(), "u", two); err != nil {
		t.Fatal(err)
	}
	change("T-09 delete", store.MarkRead, nil, 1)
	if _, err := store.MarkAllRead(t.Context(), "u", nil, nil); err != nil {
		t.Fatal(err)
	}
	change("mark all", store.MarkRead, nil, 0)
}

func TestMarkSeen(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	const hour = time.Hour

	t.Run("T-15 T-20 seen is not read", func(t *testing.T) {
		fill(t, conn, "four", "c", 4)
		wantBadge(t, store, "four", 4, 4)
		markSeen(t, store, "four", nil)
		wantBadge(t, store, "four", 4, 0)
	})
	t.Run("T-16 what arrives later is unseen wherever it is listed", func(t *testing.T) {
		at := place(t, store, event("first", "late"))
		markSeen(t, store, "late", &at)
		wantBadge(t, store, "late", 1, 0)
		dispatch(t, store, eventAt("older", moment, "late"))
		wantBadge(t, store, "late", 2, 1)
		dispatch(t, store, event("newer", "late"))
		wantBadge(t, store, "late", 3, 2)
		markSeen(t, store, "late", nil)
		wantBadge(t, store, "late", 3, 0)
		dispatch(t, store, eventAt("older again", moment, "late"))
		wantBadge(t, store, "late", 4, 1)
	})
	t.Run("part of the list", func(t *testing.T) {
		var at []inbox.Cursor
		for n := range 4 {
			at = append(at, place(t, store, eventAt(fmt.Sprint(n), moment.Add(time.Duration(n/2)*hour), "part")))
		}
		markSeen(t, store, "part", &at[0])
		wantBadge(t, store, "part", 4, 3)
		markSeen(t, store, "part", &at[2])
		wantBadge(t, store, "part", 4, 1)
	})
	t.Run("it never moves back", func(t *testing.T) {
		old := place(t, store, eventAt("old", moment, "back"))
		place(t, store, eventAt("new", moment.Add(hour), "back"))
		markSeen(t, store, "back", nil)
		for _, through := range []*inbox.Cursor{&old, {CreatedAt: moment.Add(-hour)}, nil} {
			markSeen(t, store, "back", through)
			wantBadge(t, store, "back", 2, 0)
		}
	})
	t.Run("a position that is not there yet", func(t *testing.T) {
		place(t, store, event("now", "ahead"))
		ahead := inbox.Cursor{CreatedAt: time.Now().Add(hour).UTC().Truncate(time.Microsecond), ID: inbox.MaxUUID}
		markSeen(t, store, "ahead", &ahead)
		wantBadge(t, store, "ahead", 1, 0)
		// Arrived after the mark, so not seen, although it lies below.
		place(t, store, event("later", "ahead"))
		wantBadge(t, store, "ahead", 2, 1)
	})
	t.Run("nothing to see", func(t *testing.T) {
		markSeen(t, store, "empty", nil)
		wantBadge(t, store, "empty", 0, 0)
		place(t, store, event("first", "empty"))
		wantBadge(t, store, "empty", 1, 1)
	})
	t.Run("reading implies seen, archived ones are not counted", func(t *testing.T) {
		var at []inbox.Cursor
		for n := range 3 {
			at = append(at, place(t, store, event(fmt.Sprint(n), "implied")))
		}
		if _, err := store.MarkRead(t.Context(), "implied", at[:1]); err != nil {
			t.Fatal(err)
		}
		wantBadge(t, store, "implied", 2, 2)
		if _, err := store.Archive(t.Context(), "implied", at[1:2]); err != nil {
			t.Fatal(err)
		}
		wantBadge(t, store, "implied", 1, 1)
	})
	t.Run("the newest is archived", func(t *testing.T) {
		insert(t, conn, row("done", 1, moment), archived(row("done", 2, moment.Add(hour))))
		markSeen(t, store, "done", nil)
		wantBadge(t, store, "done", 1, 0)
	})
	t.Run("each user's own", func(t *testing.T) {
		dispatch(t, store, event("shared", "x", "y"))
		markSeen(t, store, "x", nil)
		wantBadge(t, store, "x", 1, 0)
		wantBadge(t, store, "y", 1, 1)
	})
}

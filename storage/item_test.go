package storage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// tagged returns an item of user u with tags, in one text.
func tagged(itemID, tags string) *inbox.ItemInput {
	return &inbox.ItemInput{UserID: "u", ItemID: itemID, Title: itemID, Tags: strings.Fields(tags)}
}

func put(t testing.TB, store *storage.Store, in *inbox.ItemInput) *inbox.Item {
	t.Helper()
	item, err := store.PutItem(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// items returns what a user's list holds, by the titles.
func items(t testing.TB, store *storage.Store, userID string, tag *string) string {
	t.Helper()
	pages, err := store.ItemPages(t.Context(), []string{userID}, inbox.Page{Size: inbox.MaxPage}, tag)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, i := range pages[userID].Rows {
		list = append(list, i.Title)
	}
	return strings.Join(list, " ")
}

// checkTags wants exactly the tag rows that the items say: no orphan and none missing.
func checkTags(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	const of = `(SELECT user_id, unnest(tags), created_at, id FROM items)`
	for name, query := range map[string]string{
		"orphans": `TABLE item_tags EXCEPT ALL ` + of, "missing": of + ` EXCEPT ALL TABLE item_tags`,
	} {
		if got := value[int](t, conn, `SELECT count(*) FROM (`+query+`) x`); got != 0 {
			t.Errorf("%s: got %d tag rows, want none", name, got)
		}
	}
}

func TestPutItem(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	conn := connect(t, databaseURL)
	full := tagged("one", "b a b")
	full.URL, full.Data, full.CreatedAt = new("https://example.com/1"), json.RawMessage(`{"b": 1, "a": 1.0}`), new(moment)
	want := &inbox.Item{
		UserID: "u", ItemID: "one", ID: inbox.ItemUUID("one"), Title: "one", URL: full.URL, Data: full.Data,
		Tags: []string{"b", "a"}, CreatedAt: moment,
	}
	if diff := cmp.Diff(want, put(t, store, full)); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"LockItems", "PutItem"}, recorder.names()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	checkTags(t, conn)
	checkNow(t, "created at", put(t, store, tagged("two", "a c")).CreatedAt)

	t.Run("lists", func(t *testing.T) {
		for tag, want := range map[string]string{"a": "two one", "b": "one", "c": "two", "A": "", "none": ""} {
			if got := items(t, store, "u", &tag); got != want {
				t.Errorf("tag %s: got %q, want %q", tag, got, want)
			}
		}
		if got := items(t, store, "u", nil); got != "two one" {
			t.Errorf("all: got %q", got)
		}
	})
	t.Run("a replacement takes the place of all", func(t *testing.T) {
		replaced := put(t, store, tagged("one", "c d"))
		want := &inbox.Item{
			UserID: "u", ItemID: "one", ID: inbox.ItemUUID("one"), Title: "one", Tags: []string{"c", "d"}, CreatedAt: moment,
		}
		if diff := cmp.Diff(want, replaced); diff != "" {
			t.Errorf("item (-want +got):\n%s", diff)
		}
		for tag, want := range map[string]string{"a": "two", "b": "", "c": "two one", "d": "one"} {
			if got := items(t, store, "u", &tag); got != want {
				t.Errorf("tag %s: got %q, want %q", tag, got, want)
			}
		}
		checkTags(t, conn)
	})
	t.Run("a new time moves it, with the tags that stay too", func(t *testing.T) {
		moved := tagged("one", "d c e")
		moved.CreatedAt = new(time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond))
		if diff := cmp.Diff(*moved.CreatedAt, put(t, store, moved).CreatedAt); diff != "" {
			t.Errorf("created at (-want +got):\n%s", diff)
		}
		if got := items(t, store, "u", new("c")) + ", " + items(t, store, "u", nil); got != "one two, one two" {
			t.Errorf("got %q", got)
		}
		checkTags(t, conn)
	})
	t.Run("tags that stay are not written again", func(t *testing.T) {
		before := value[string](t, conn, `SELECT string_agg(ctid::text || xmin, ' ' ORDER BY ctid) FROM item_tags`)
		put(t, store, tagged("one", "e c d"))
		after := value[string](t, conn, `SELECT string_agg(ctid::text || xmin, ' ' ORDER BY ctid) FROM item_tags`)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("rows (-before +after):\n%s", diff)
		}
	})
}

// The host application may give two users' items one id.
func TestItemsOfTwoUsers(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	mine, other := tagged("same", "a b"), tagged("same", "a c")
	other.UserID, other.Title = "v", "theirs"
	first, second := put(t, store, mine), put(t, store, other)
	if first.ID != second.ID || first.NodeID() == second.NodeID() {
		t.Errorf("got ids %s and %s, nodes %s and %s", first.ID, second.ID, first.NodeID(), second.NodeID())
	}
	checkTags(t, conn)
	if found, err := store.DeleteItem(t.Context(), "u", first.ID); err != nil || !found {
		t.Errorf("delete: got %t, %v", found, err)
	}
	if got := items(t, store, "u", new("a")) + "/" + items(t, store, "v", new("a")); got != "/theirs" {
		t.Errorf("by tag: got %q", got)
	}
	checkTags(t, conn)
	for user, id := range map[string]inbox.UUID{"u": first.ID, "nobody": first.ID, "v": inbox.ItemUUID("none")} {
		if found, err := store.DeleteItem(t.Context(), user, id); err != nil || found {
			t.Errorf("delete of %s: got %t, %v, want none", user, found, err)
		}
	}
	got, err := store.Items(t.Context(), []inbox.NodeID{
		{Kind: inbox.KindItem, UserID: "u", Position: inbox.Cursor{ID: first.ID}},
		{Kind: inbox.KindItem, UserID: "v", Position: inbox.Cursor{ID: first.ID}},
		{Kind: inbox.KindItem, UserID: "v", Position: inbox.Cursor{ID: inbox.ItemUUID("none")}},
		{Kind: inbox.KindDevice, UserID: "v", Position: inbox.Cursor{ID: first.ID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]*inbox.Item{second.NodeID(): second}, got); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
}

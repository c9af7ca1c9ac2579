package storage_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// What is there stays as it is, of every kind.
func TestImportKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	old := oneOfEach("u")
	wantOutcome(t, "first", importAll(t, store.NewImporter(), old...), len(old))
	before := contents(t, store, "u")
	other := oneOfEach("u")
	other[0].(*inbox.AccountRecord).DisplayName = "other"
	other[1].(*inbox.SettingsRecord).Theme = new(inbox.ThemeDark)
	other[1].(*inbox.SettingsRecord).Preferences = []inbox.Preference{{Category: "other", Channel: inbox.ChannelPush}}
	other[8].(*inbox.ItemRecord).Tags = []string{"other"}
	wantOutcome(t, "others", importAll(t, store.NewImporter(), other...), 0)
	if diff := cmp.Diff(before, contents(t, store, "u")); diff != "" {
		t.Errorf("records (-before +after):\n%s", diff)
	}
	if n := value[int](t, conn, `SELECT count(*) FROM item_tags WHERE tag = 'other'`); n != 0 {
		t.Error("a tag of an item that was not written")
	}
}

// contents is an export as texts.
func contents(t *testing.T, store *storage.Store, user string) (records []string) {
	t.Helper()
	err := store.Export(t.Context(), user, func(r inbox.Record) error {
		records = append(records, fmt.Sprintf("%T %+v", r, flat(r)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// flat returns what tells records apart.
func flat(r inbox.Record) any {
	switch r := r.(type) {
	case *inbox.AccountRecord:
		return r.DisplayName
	case *inbox.SettingsRecord:
		return []any{r.Theme == nil, r.Preferences}
	case *inbox.NotificationRecord:
		return []any{r.Position, r.Event.Title, r.Claim.Key}
	case *inbox.ActivityRecord:
		return []any{r.Position, r.Verb, r.Claim.Key}
	case *inbox.ItemRecord:
		return []any{r.ItemID, r.Tags, r.CreatedAt.UTC()}
	case *inbox.DeviceRecord:
		return r.Token
	case *inbox.ClaimRecord:
		return r.Claim.Key
	case *inbox.DeliveryRecord:
		return []any{r.ID, r.Status}
	case *inbox.SeenRecord:
		return r.Through
	}
	return nil
}

func item(user, itemID string, tags ...string) *inbox.ItemRecord {
	i := &inbox.ItemRecord{ItemInput: inbox.ItemInput{UserID: user, ItemID: itemID, Title: "t", Tags: tags}}
	i.Place(moment)
	return i
}

// Two users may have items of one id; one user has one, with the tags of the first.
func TestImportItems(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	im := store.NewImporter()
	for _, id := range []string{"copied", "merged"} {
		wantOutcome(t, id, importAll(t, im, item("u", id, "a", "b", "a"), item("v", id, "a"), item("u", id, "c")), 2)
		got := value[[]string](t, conn, `SELECT array_agg(user_id || ' ' || tag ORDER BY user_id, tag) FROM item_tags WHERE id = $1`,
			[16]byte(inbox.ItemUUID(id)))
		if diff := cmp.Diff([]string{"u a", "u b", "v a"}, got); diff != "" {
			t.Errorf("%s: tags (-want +got):\n%s", id, diff)
		}
	}
}

// More users than one transaction has locks for.
func TestImportItemsOfMany(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	var batch []inbox.Record
	for i := range 2 * 2500 {
		batch = append(batch, item(fmt.Sprint("u", i%2500), fmt.Sprint(i), "a"))
	}
	wantOutcome(t, "first", importAll(t, store.NewImporter(), batch...), len(batch))
	wantOutcome(t, "again", importAll(t, store.NewImporter(), batch...), 0)
}

// An item that is put while it is imported has the tags of one of both, and no others.
func TestImportAndPutItemRace(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	var work sync.WaitGroup
	work.Go(func() {
		for i := range 200 {
			if _, err := store.NewImporter().Import(t.Context(), []inbox.Record{item("u", fmt.Sprint(i), "imported")}); err != nil {
				t.Error(err)
			}
		}
	})
	work.Go(func() {
		for i := range 200 {
			in := item("u", fmt.Sprint(i), "put").ItemInput
			if _, err := store.PutItem(t.Context(), &in); err != nil {
				t.Error(err)
			}
		}
	})
	work.Wait()
	const orphans = `SELECT count(*) FROM item_tags t WHERE NOT EXISTS (
		SELECT FROM items i WHERE i.user_id = t.user_id AND i.id = t.id AND t.tag = ANY (i.tags) AND i.created_at = t.created_at)`
	if n := value[int](t, conn, orphans); n != 0 {
		t.Errorf("%d rows of tags that no item has", n)
	}
}

func device(user string, n int) *inbox.DeviceRecord {
	return &inbox.DeviceRecord{Device: inbox.Device{
		UserID: user, ID: numbered(n), Provider: inbox.ProviderExpo, Token: fmt.Sprintf("ExponentPushToken[%d]", n),
		CreatedAt: moment, LastSeenAt: moment,
	}}
}

// A token belongs to one user, and a user has a hundred devices at most.
func TestImportDevices(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	im := store.NewImporter()
	var batch []inbox.Record
	for n := range storage.MaxDevices + 2 {
		batch = append(batch, device("u", n))
	}
	const full = "userId: has 100 devices already"
	refused := []inbox.Refusal{{Index: 100, Message: full}, {Index: 101, Message: full}}
	wantOutcome(t, "many", importAll(t, im, batch...), storage.MaxDevices, refused...)
	wantOutcome(t, "again", importAll(t, im, batch...), 0, refused...)
	stolen := device("v", 7)
	stolen.ID = numbered(1000)
	wantOutcome(t, "another user's token", importAll(t, im, stolen, device("v", 2000)), 1,
		inbox.Refusal{Index: 0, Message: "token: is registered as another device by now"})
}

// An exported record goes back to its place, but not beside what took its claim meanwhile.
func TestImportRestores(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	for _, run := range []string{"a", "b", "c"} {
		place(t, store, event(run, "u"))
	}
	var records []inbox.Record
	if err := store.Export(t.Context(), "u", func(r inbox.Record) error {
		records = append(records, new(*r.(*inbox.NotificationRecord)))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	im := store.NewImporter()
	exec(t, conn, `DELETE FROM notifications`)
	wantOutcome(t, "claims are left", importAll(t, im, records...), 3)
	exec(t, conn, `DELETE FROM notifications; DELETE FROM claims`)
	again := place(t, store, event("a", "u"))
	changed := event("b", "u")
	changed.Title = "other"
	place(t, store, changed)
	wantOutcome(t, "dispatched again", importAll(t, im, records...), 1, inbox.Refusal{Index: 1, Message: otherContent})
	got := feed(t, store, "u")
	if len(got) != 3 || !containsPosition(got, again) {
		t.Errorf("got %v, want each event once", titles(got))
	}
}

func containsPosition(list []*inbox.Notification, at inbox.Cursor) bool {
	for _, n := range list {
		if n.Cursor() == at {
			return true
		}
	}
	return false
}

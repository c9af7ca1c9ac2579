package storage_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// importAll writes records by an importer and wants them to be there.
func importAll(t *testing.T, im *storage.Importer, records ...inbox.Record) inbox.ImportOutcome {
	t.Helper()
	out, err := im.Import(t.Context(), records)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(out.Refused, func(a, b inbox.Refusal) int { return a.Index - b.Index })
	return out
}

func wantOutcome(t *testing.T, what string, got inbox.ImportOutcome, isNew int, refused ...inbox.Refusal) {
	t.Helper()
	if diff := cmp.Diff(inbox.ImportOutcome{New: isNew, Refused: refused}, got); diff != "" {
		t.Errorf("%s: outcome (-want +got):\n%s", what, diff)
	}
}

const otherContent = "the key was used before for other content"

// An import makes the claims of a dispatch, so that whichever comes second writes nothing.
func TestImportAndDispatchShareClaims(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	im := store.NewImporter()
	before := place(t, store, eventAt("dispatched", moment, "u"))
	timeless := place(t, store, event("timeless", "u"))
	changed := history("u", "dispatched")
	changed.Event.Title = "other"
	changed.Place(moment)
	wantOutcome(t, "after dispatches", importAll(t, im, history("u", "dispatched"), history("u", "timeless"), changed), 0,
		inbox.Refusal{Index: 2, Message: otherContent})
	wantOutcome(t, "something new", importAll(t, im, history("u", "new"), history("v", "dispatched")), 2)
	wantStatuses(t, dispatch(t, store, eventAt("new", moment, "u", "v")), "u DUPLICATE", "v CREATED")
	again := dispatch(t, store, eventAt("new", moment, "u"))[0]
	if diff := cmp.Diff(history("u", "new").Position, again.Position); diff != "" {
		t.Errorf("the claim's position (-imported +dispatched):\n%s", diff)
	}
	got := map[inbox.Cursor]bool{}
	for _, n := range feed(t, store, "u") {
		got[n.Cursor()] = true
	}
	if diff := cmp.Diff(map[inbox.Cursor]bool{before: true, timeless: true, again.Position: true}, got); diff != "" {
		t.Errorf("the feed (-want +got):\n%s", diff)
	}
}

// Lines without a key are told apart by what they tell and when.
func TestImportWithoutKeys(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	keyless := func(user, title string, at time.Time) *inbox.NotificationRecord {
		n := &inbox.NotificationRecord{UserID: user, Event: inbox.Event{Kind: "k", Category: "c", Title: title, OccurredAt: &at}}
		n.Place(moment)
		return n
	}
	batch := []inbox.Record{
		keyless("u", "a", moment), keyless("u", "b", moment), keyless("v", "a", moment), keyless("u", "a", moment.Add(time.Second)),
		keyless("u", "a", moment), // as the first
	}
	im := store.NewImporter()
	wantOutcome(t, "first", importAll(t, im, batch...), 4)
	wantOutcome(t, "again", importAll(t, im, batch...), 0)
	wantOutcome(t, "by another importer", importAll(t, store.NewImporter(), batch...), 0)
	read := keyless("u", "a", moment)
	read.ReadAt = &moment
	wantOutcome(t, "read meanwhile", importAll(t, im, read), 0)
	if got := badge(t, store, "u").Unread; got != 3 {
		t.Errorf("got %d unread, want 3", got)
	}
}

// Of two records with one key the earlier one is written, whether they are copied or merged.
func TestImportWithinABatch(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	other := func(run string) *inbox.NotificationRecord {
		n := history("u", run)
		n.Event.Title = "other"
		n.Place(moment)
		return n
	}
	im := store.NewImporter()
	for i, run := range []string{"copied", "merged"} {
		wantOutcome(t, run, importAll(t, im, other("x"+run), history("u", run), other(run), history("u", run)), 2,
			inbox.Refusal{Index: 2, Message: otherContent})
		if got := feed(t, store, "u"); len(got) != 2*(i+1) {
			t.Errorf("%s: got %d notifications", run, len(got))
		}
	}
}

// What is imported waits for no push, and what happened before a user last looked is no news.
func TestImportIsHistory(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	if _, _, err := store.RegisterDevice(t.Context(), "u", inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: "ExponentPushToken[x]"}); err != nil {
		t.Fatal(err)
	}
	place(t, store, event("seen", "u"))
	if err := store.MarkSeen(t.Context(), "u", nil); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, `DELETE FROM push_queue`)
	if _, _, err := store.SetPreference(t.Context(), "u", inbox.Preference{Category: "c", Channel: inbox.ChannelInApp}); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, "a muted category", importAll(t, store.NewImporter(), history("u", "old")), 1)
	got := badge(t, store, "u")
	if diff := cmp.Diff(inbox.Badge{Unread: 2}, got, sameCounts); diff != "" {
		t.Errorf("badge (-want +got):\n%s", diff)
	}
	if n := value[int](t, conn, `SELECT count(*) FROM push_queue`); n != 0 {
		t.Errorf("%d pushes wait, want none", n)
	}
}

// A record that the database refuses although it has passed its check takes no other with it.
func TestImportOfWhatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	exec(t, conn, `ALTER TABLE notifications ADD CONSTRAINT fair CHECK (title NOT LIKE 'bad%')`)
	var batch []inbox.Record
	for i := range 1000 {
		run := fmt.Sprint("run", i)
		if i == 17 || i == 18 || i == 999 {
			run = fmt.Sprint("bad", i)
		}
		batch = append(batch, history("u", run))
	}
	const message = `the database refuses it: new row for relation "notifications" violates check constraint "fair"`
	for _, want := range []int{997, 0} {
		wantOutcome(t, "batch", importAll(t, store.NewImporter(), batch...), want,
			inbox.Refusal{Index: 17, Message: message}, inbox.Refusal{Index: 18, Message: message}, inbox.Refusal{Index: 999, Message: message})
	}
	if n := value[int](t, conn, `SELECT count(*) FROM notifications`); n != 997 {
		t.Errorf("got %d notifications, want 997", n)
	}
	if n := value[int](t, conn, `SELECT count(*) FROM claims`); n != 997 {
		t.Errorf("got %d claims, want 997", n)
	}
}

// A table that is not there is no fault of the records.
func TestImportIntoABrokenDatabase(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	exec(t, conn, `DROP TABLE item_tags`)
	out, err := store.NewImporter().Import(t.Context(), oneOfEach("u"))
	if err == nil || len(out.Refused) > 0 || !strings.Contains(err.Error(), "import:") {
		t.Errorf("got error %v and outcome %+v, want an error alone", err, out)
	}
	if n := value[int](t, conn, `SELECT count(*) FROM items`); n != 0 {
		t.Errorf("%d items without their tags", n)
	}
}

// Importers and dispatchers of the same events, all at once, in any order: each is written once and nobody waits for
// a deadlock to be found.
func TestImportsRace(t *testing.T) {
	t.Parallel()
	const users, runs = 20, 30
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	var batch []inbox.Record
	var recipients []string
	for u := range users {
		recipients = append(recipients, fmt.Sprint("u", u))
		for r := range runs {
			batch = append(batch, history(fmt.Sprint("u", u), fmt.Sprint("run", r)))
		}
	}
	var isNew, created sync.Map
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			shuffled := slices.Clone(batch)
			if i%2 == 0 {
				slices.Reverse(shuffled)
			}
			out, err := store.NewImporter().Import(t.Context(), shuffled)
			if err != nil || len(out.Refused) > 0 {
				t.Errorf("import: %v, %v", err, out.Refused)
			}
			isNew.Store(i, out.New)
		})
		work.Go(func() {
			n := 0
			for r := range runs {
				results, err := store.Dispatch(t.Context(), eventAt(fmt.Sprint("run", r), moment, recipients...))
				if err != nil {
					t.Error(err)
				}
				for _, result := range results {
					if result.Status == inbox.Created {
						n++
					}
				}
			}
			created.Store(i, n)
		})
	}
	work.Wait()
	total := 0
	for _, m := range []*sync.Map{&isNew, &created} {
		m.Range(func(_, n any) bool { total += n.(int); return true })
	}
	for _, sql := range []string{`SELECT count(*) FROM notifications`, `SELECT count(*) FROM claims`} {
		if n := value[int](t, conn, sql); n != users*runs || total != n {
			t.Errorf("%s: got %d, and %d were told to be new, want %d", sql, n, total, users*runs)
		}
	}
	if n := value[int](t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

package storage_test

import (
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

// T-60: whatever zone the database session and the process are in, an instant comes back as it went, in UTC
// and with its microseconds.
func TestInstants(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("JST", 9*60*60)
	summer := time.Date(2026, 10, 25, 1, 30, 0, 123456000, time.UTC) // 02:30 twice in Berlin
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/St_Johns", "Europe/Berlin"} {
		t.Run("T-60 "+zone, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store := open(t, withParam(t, databaseURL, "timezone", zone))
			for _, want := range []time.Time{moment, moment.In(tokyo), summer, summer.Add(-time.Hour), time.Unix(0, 1000)} {
				e := eventAt(want.String(), want, "u")
				position := place(t, store, e)
				checkInstant(t, "position", position.CreatedAt, want)
				again := dispatch(t, store, e)[0]
				checkInstant(t, "position of the duplicate", again.Position.CreatedAt, want)
				marked, err := store.MarkRead(t.Context(), "u", []inbox.Cursor{position})
				if err != nil {
					t.Fatal(err)
				}
				if !marked.Changed[position] {
					t.Errorf("%s: the position is not found again: %v", want, marked.Changed)
				}
				checkInstant(t, "created at", marked.Notifications[position].CreatedAt, want)
				checkNow(t, "read at", *marked.Notifications[position].ReadAt)
			}
			checkNow(t, "server's time", place(t, store, event("now", "u")).CreatedAt)
			all := markAll(t, store, "u", nil, nil)
			checkNow(t, "through", all.Through)
			checkNow(t, "read at", all.ReadAt)
			account := putAccount(t, store, inbox.AccountInput{UserID: "u", DisplayName: "U", CreatedAt: &summer})
			checkInstant(t, "account", account.CreatedAt, summer)
			in, kept := keyed("key", "verb"), tagged("item", "a")
			in.OccurredAt, in.ExpiresAt, kept.CreatedAt = &summer, new(summer.Add(time.Hour)), &summer
			for range 2 { // the second time by the claim, and as a replacement
				activity := record(t, store, in, 0)
				checkInstant(t, "activity", activity.CreatedAt, summer)
				checkInstant(t, "its expiry", *activity.ExpiresAt, summer.Add(time.Hour))
				checkInstant(t, "item", put(t, store, kept).CreatedAt, summer)
			}
			settings, err := store.UpdateSettings(t.Context(), "u", inbox.SettingsChange{})
			if err != nil {
				t.Fatal(err)
			}
			checkNow(t, "settings", *settings.UpdatedAt)
		})
	}
}

func checkInstant(t *testing.T, what string, got, want time.Time) {
	t.Helper()
	// As text, for cmp takes two zones' times for equal.
	if diff := cmp.Diff(want.UTC().Format(time.RFC3339Nano), got.Format(time.RFC3339Nano)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func checkNow(t *testing.T, what string, got time.Time) {
	t.Helper()
	if age := time.Since(got); age < -time.Minute || age > time.Minute || got.Location() != time.UTC {
		t.Errorf("%s: got %s, want about now in UTC", what, got)
	}
}

// A process's zone is fixed at its start, so this is another process.
func TestInstantsOfProcessElsewhere(t *testing.T) {
	t.Parallel()
	cmd := osexec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInstants$")
	cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "TEST_DATABASE_URL="+storagetest.URL(t))
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "PASS") {
		t.Errorf("T-60 with TZ=Asia/Tokyo: %v\n%s", err, output)
	}
}

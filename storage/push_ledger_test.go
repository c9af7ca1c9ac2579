package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// ledger reads the lines of a user's notifications, the newest first.
func ledger(t testing.TB, store *storage.Store, userID string) []*inbox.Notification {
	t.Helper()
	notifications := feed(t, store, userID)
	if err := store.Ledger(t.Context(), notifications); err != nil {
		t.Fatal(err)
	}
	return notifications
}

func TestLedger(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	one := register(t, store, "a", phone("one"))
	place(t, store, event("old", "a"))
	place(t, store, event("without devices", "b"))
	planPushes(t, store)
	two := register(t, store, "a", phone("two"))
	place(t, store, event("new", "a"))
	planPushes(t, store)

	claimed := claimDeliveries(t, store, time.Minute)
	for _, d := range claimed {
		report := storage.Report{ID: d.ID, Status: inbox.PushSent, Ticket: new("ticket")}
		if d.Token == two.Token {
			report = storage.Report{ID: d.ID, Status: inbox.PushFailed, Error: new("http_504"), Detail: new("kept to ourselves")}
		}
		reportSends(t, store, report)
	}
	a, b := feed(t, store, "a"), feed(t, store, "b")
	twice := *a[0] // a notification that is asked for twice
	recorder.take()
	if err := store.Ledger(t.Context(), []*inbox.Notification{a[0], b[0], a[1], &twice}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Ledger"}, recorder.names()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	sent := &inbox.PushDelivery{Device: one, Status: inbox.PushSent}
	failed := &inbox.PushDelivery{Device: two, Status: inbox.PushFailed, Error: new("http_504")}
	byToken := cmpopts.SortSlices(func(x, y *inbox.PushDelivery) bool { return x.Device.Token < y.Device.Token })
	anyTimes := cmpopts.IgnoreFields(inbox.PushDelivery{}, "CreatedAt", "SentAt", "SettledAt")
	for name, tt := range map[string]struct {
		notification *inbox.Notification
		want         []*inbox.PushDelivery
	}{
		"two devices": {a[0], []*inbox.PushDelivery{sent, failed}}, "once more": {&twice, []*inbox.PushDelivery{sent, failed}},
		"one device": {a[1], []*inbox.PushDelivery{sent}}, "no device": {b[0], []*inbox.PushDelivery{}},
	} {
		if diff := cmp.Diff(tt.want, tt.notification.PushDeliveries, byToken, anyTimes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, p := range tt.notification.PushDeliveries {
			if got, want := p.SentAt != nil, p.Status == inbox.PushSent; got != want {
				t.Errorf("%s, %s: has a time of sending: got %v, want %v", name, p.Status, got, want)
			}
			if got, want := p.SettledAt != nil, p.Status == inbox.PushFailed; got != want {
				t.Errorf("%s, %s: has a time of settling: got %v, want %v", name, p.Status, got, want)
			}
		}
	}
}

// A line outlives its device.
func TestLedgerOfGoneDevices(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	gone, moved := register(t, store, "a", phone("gone")), register(t, store, "a", phone("moved"))
	off := register(t, store, "a", phone("off"))
	claimed := sending(t, store, "run", "a")
	for _, d := range claimed {
		report := storage.Report{ID: d.ID, Status: inbox.PushSent}
		if d.Token == off.Token {
			report = storage.Report{ID: d.ID, Status: inbox.PushFailed, Error: new("DeviceNotRegistered"), Disable: true}
		}
		reportSends(t, store, report)
	}
	if _, err := store.UnregisterDevice(t.Context(), "a", gone.ID); err != nil {
		t.Fatal(err)
	}
	register(t, store, "b", phone("moved"))
	var statuses []string
	for _, p := range ledger(t, store, "a")[0].PushDeliveries {
		switch {
		case p.Device == nil:
			statuses = append(statuses, string(p.Status)+" to no device")
		case p.Device.ID == moved.ID || p.Device.ID == gone.ID:
			t.Errorf("got the device %s, want none", p.Device.Token)
		default:
			statuses = append(statuses, string(p.Status)+" to one off for "+*p.Device.DisabledReason)
		}
	}
	want := []string{"FAILED to one off for DeviceNotRegistered", "SENT to no device", "SENT to no device"}
	if diff := cmp.Diff(want, statuses, sortStrings(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// A report of one device's token leaves a token that has moved meanwhile alone.
func TestReportOfMovedDevice(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	register(t, store, "a", phone("moved"))
	claimed := sending(t, store, "run", "a")
	device := register(t, store, "b", phone("moved"))
	reportSends(t, store, storage.Report{ID: claimed[0].ID, Status: inbox.PushFailed, Error: new("x"), Disable: true})
	if diff := cmp.Diff([]*inbox.Device{device}, devices(t, store, "b")); diff != "" {
		t.Errorf("B's devices (-before +after):\n%s", diff)
	}
}

func TestPurgePushes(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	for _, age := range []string{"1 day", "100 days"} {
		exec(t, conn, `INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state,
			  created_at, leased_until, sent_at, settled_at, error)
			SELECT $1 || s, now(), gen_random_uuid(), gen_random_uuid(), 'EXPO', s, now() - $1::text::interval,
			  CASE WHEN s = 'sending' THEN now() END,
			  CASE WHEN s IN ('sent', 'delivered', 'receipt_error', 'unknown') THEN now() END,
			  CASE WHEN s NOT IN ('queued', 'sending', 'sent') THEN now() END,
			  CASE WHEN s IN ('failed', 'receipt_error', 'suppressed') THEN 'x' END
			FROM unnest(ARRAY['queued', 'sending', 'sent', 'delivered', 'failed', 'receipt_error', 'unknown', 'suppressed']) s`, age)
	}
	before := time.Now().Add(-90 * 24 * time.Hour)
	w := beginSweep(t, store)
	for i, want := range []int{5, 0} {
		if got := purge(t, w.Pushes(before), true).Rows; got != want {
			t.Errorf("time %d: got %d purged, want %d", i+1, got, want)
		}
	}
	const left = `SELECT string_agg(state, ' ' ORDER BY state) FROM push_deliveries WHERE created_at < now() - interval '90 days'`
	if got, want := value[string](t, conn, left), "queued sending sent"; got != want {
		t.Errorf("old lines: got %s, want %s", got, want)
	}
	if got, want := value[int](t, conn, `SELECT count(*) FROM push_deliveries`), 8+3; got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
}

// What an operator sees: a line by its id, a user's, a notification's.
func TestLedgerLines(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	device := register(t, store, "a", phone("one"))
	register(t, store, "b", phone("other"))
	first, second := place(t, store, event("first", "a")), place(t, store, event("second", "a"))
	dispatch(t, store, event("third", "b"))
	planPushes(t, store)
	for _, d := range claimDeliveries(t, store, time.Minute) {
		reportSends(t, store, storage.Report{ID: d.ID, Status: inbox.PushFailed, Error: new("http_504"), Detail: new("<html>")})
	}
	line := func(at inbox.Cursor) storage.LedgerLine {
		return storage.LedgerLine{
			UserID: "a", NotificationID: inbox.NotificationID("a", at), DeviceID: device.ID, Provider: "EXPO", State: "failed",
			Error: new("http_504"), Detail: new("<html>"),
		}
	}
	anyIDs := cmpopts.IgnoreFields(storage.LedgerLine{}, "ID", "CreatedAt", "SettledAt")
	check := func(what string, want, got []storage.LedgerLine, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got, anyIDs, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	all, err := store.LedgerOfUser(t.Context(), "a", 10)
	check("of a user", []storage.LedgerLine{line(second), line(first)}, all, err)
	got, err := store.LedgerOfUser(t.Context(), "a", 1)
	check("the newest of a user", []storage.LedgerLine{line(second)}, got, err)
	got, err = store.LedgerByID(t.Context(), all[1].ID)
	check("by id", []storage.LedgerLine{line(first)}, got, err)
	got, err = store.LedgerByID(t.Context(), inbox.MaxUUID)
	check("by an unknown id", nil, got, err)
	got, err = store.LedgerOfNotification(t.Context(), "a", first)
	check("of a notification", []storage.LedgerLine{line(first)}, got, err)
	got, err = store.LedgerOfNotification(t.Context(), "b", first)
	check("of another user's notification", nil, got, err)
}

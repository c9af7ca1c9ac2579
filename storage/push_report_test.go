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

// sortStrings compares lists as sets.
func sortStrings(less func(a, b string) bool) cmp.Option { return cmpopts.SortSlices(less) }

func TestReportSends(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		report storage.Report
		want   line
	}{
		"sent": {
			storage.Report{Status: inbox.PushSent, Ticket: new("ticket"), Due: time.Hour},
			line{state: "sent", ticket: "ticket", isSent: true},
		},
		"T-63 sent without a ticket": {
			storage.Report{Status: inbox.PushSent}, line{state: "sent", isSent: true},
		},
		"delivered": {
			storage.Report{Status: inbox.PushDelivered}, line{state: "delivered", isSent: true, isSettled: true},
		},
		"T-65 failed": {
			storage.Report{Status: inbox.PushFailed, Error: new("http_504"), Detail: new("<html>")},
			line{state: "failed", err: "http_504", detail: "<html>", isSettled: true},
		},
		"failed, the device no good": {
			storage.Report{Status: inbox.PushFailed, Error: new("DeviceNotRegistered"), Disable: true},
			line{
				state: "failed", err: "DeviceNotRegistered", isSettled: true, isDisabled: true, reason: "DeviceNotRegistered",
			},
		},
		"T-65 queued again": {
			storage.Report{Status: inbox.PushQueued, Error: new("TOO_MANY_REQUESTS"), Due: time.Hour},
			line{state: "queued", err: "TOO_MANY_REQUESTS"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			register(t, store, "a", phone("one"))
			tt.report.ID = sending(t, store, "run", "a")[0].ID
			reportSends(t, store, tt.report)
			if diff := cmp.Diff(tt.want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			// Only what is being sent can be reported: a second report, or one that is out of turn, is none.
			reportSends(t, store, storage.Report{ID: tt.report.ID, Status: inbox.PushFailed, Error: new("late"), Disable: true})
			if diff := cmp.Diff(tt.want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("after a second report (-want +got):\n%s", diff)
			}
		})
	}
}

// What the provider has certainly not taken is sent again, after its pause.
func TestT65Requeued(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	register(t, store, "a", phone("one"))
	first := sending(t, store, "run", "a")
	requeued := storage.Report{
		ID: first[0].ID, Status: inbox.PushQueued, Error: new("TOO_MANY_REQUESTS"), Detail: new("slow down"), Due: time.Minute,
	}
	reportSends(t, store, requeued)
	if got := claimDeliveries(t, store, time.Minute); len(got) != 0 {
		t.Errorf("within the pause: got %d claimed, want none", len(got))
	}
	exec(t, conn, `UPDATE push_deliveries SET due_at = due_at - interval '1 minute'`)
	if diff := cmp.Diff(first, claimDeliveries(t, store, time.Minute), anyAge); diff != "" {
		t.Errorf("claimed (-first +again):\n%s", diff)
	}
	reportSends(t, store, storage.Report{ID: first[0].ID, Status: inbox.PushSent, Ticket: new("ticket")})
	want := line{state: "sent", ticket: "ticket", isSent: true}
	if diff := cmp.Diff(want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// sentLine makes a delivery that was sent with a ticket, due for a look.
func sentLine(t testing.TB, store *storage.Store) inbox.UUID {
	t.Helper()
	register(t, store, "a", phone("one"))
	id := sending(t, store, "run", "a")[0].ID
	reportSends(t, store, storage.Report{ID: id, Status: inbox.PushSent, Ticket: new("ticket")})
	return id
}

func TestReportReceipts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		report storage.Report
		want   line
	}{
		"delivered": {
			storage.Report{Status: inbox.PushDelivered}, line{state: "delivered", isSettled: true},
		},
		"an error": {
			storage.Report{Status: inbox.PushReceiptError, Error: new("FullMoon"), Detail: new("{}")},
			line{state: "receipt_error", err: "FullMoon", detail: "{}", isSettled: true},
		},
		"the device no good": {
			storage.Report{Status: inbox.PushReceiptError, Error: new("DeviceNotRegistered"), Disable: true},
			line{
				state: "receipt_error", err: "DeviceNotRegistered", isSettled: true, isDisabled: true, reason: "DeviceNotRegistered",
			},
		},
		"T-63 nothing, and given up": {
			storage.Report{Status: inbox.PushUnknown}, line{state: "unknown", isSettled: true},
		},
		"T-63 nothing yet": {
			storage.Report{Status: inbox.PushSent, Due: time.Hour}, line{state: "sent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			tt.report.ID = sentLine(t, store)
			tt.want.ticket, tt.want.isSent = "ticket", true
			claimReceipts(t, store, time.Minute)
			reportReceipts(t, store, tt.report)
			if diff := cmp.Diff(tt.want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			if got := claimReceipts(t, store, time.Minute); len(got) != 0 {
				t.Errorf("claimed again: got %d, want none", len(got))
			}
			if tt.report.Status == inbox.PushSent {
				return
			}
			// What is final stays so.
			reportReceipts(t, store, storage.Report{ID: tt.report.ID, Status: inbox.PushUnknown})
			if diff := cmp.Diff(tt.want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("after a second report (-want +got):\n%s", diff)
			}
		})
	}
}

// A receipt for what is not sent changes nothing.
func TestReportReceiptsOutOfTurn(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	register(t, store, "a", phone("one"))
	id := sending(t, store, "run", "a")[0].ID
	reportReceipts(t, store, storage.Report{ID: id, Status: inbox.PushReceiptError, Error: new("x"), Disable: true})
	if diff := cmp.Diff(line{state: "sending", isLeased: true}, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// Of two processes one alone looks at a receipt, and once more when the other's lease is over.
func TestClaimReceipts(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	stores := []*storage.Store{open(t, databaseURL), open(t, databaseURL)}
	conn := connect(t, databaseURL)
	id := sentLine(t, stores[0])
	exec(t, conn, `UPDATE push_deliveries SET sent_at = now() - interval '1 hour'`)
	first := claimReceipts(t, stores[0], time.Minute)
	if diff := cmp.Diff([]storage.Sent{{ID: id, Ticket: "ticket"}}, first, cmpopts.IgnoreFields(storage.Sent{}, "Age")); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	if got := first[0].Age; got < time.Hour || got > time.Hour+time.Minute {
		t.Errorf("age: got %s, want an hour", got)
	}
	for _, store := range stores {
		if got := claimReceipts(t, store, time.Minute); len(got) != 0 {
			t.Errorf("within the lease: got %d claimed, want none", len(got))
		}
	}
	exec(t, conn, `UPDATE push_deliveries SET leased_until = now() - interval '1 ms'`)
	if got, want := len(claimReceipts(t, stores[1], time.Minute)), 1; got != want {
		t.Errorf("after the lease: got %d claimed, want %d", got, want)
	}
}

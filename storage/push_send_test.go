package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// deliveries writes n queued deliveries past the store.
func deliveries(t testing.TB, conn *pgx.Conn, n int) {
	t.Helper()
	exec(t, conn, `INSERT INTO push_deliveries (user_id, notification_at, notification_id, device_id, provider, state)
		SELECT 'u' || i, now(), gen_random_uuid(), gen_random_uuid(), 'EXPO', 'queued' FROM generate_series(1, $1::int) i`, n)
}

// line is what a delivery's row says, and what has become of its device.
type line struct {
	state, err, detail, ticket  string
	isSent, isSettled, isLeased bool
	isDisabled                  bool
	reason                      string
}

// lineOf reads the only delivery.
func lineOf(t testing.TB, conn *pgx.Conn) line {
	t.Helper()
	var l line
	err := conn.QueryRow(t.Context(), `SELECT p.state, coalesce(p.error, ''), coalesce(p.detail, ''), coalesce(p.ticket, ''),
		p.sent_at IS NOT NULL, p.settled_at IS NOT NULL, p.leased_until IS NOT NULL, d.disabled_at IS NOT NULL,
		coalesce(d.disabled_reason, '')
		FROM push_deliveries p JOIN devices d ON d.id = p.device_id`).
		Scan(&l.state, &l.err, &l.detail, &l.ticket, &l.isSent, &l.isSettled, &l.isLeased, &l.isDisabled, &l.reason)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var anyAge = cmpopts.IgnoreFields(storage.Delivery{}, "Age")

func TestClaimDeliveries(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	in := phone("one")
	in.Platform = new(inbox.PlatformIOS)
	register(t, store, "a", in)
	insert(t, conn, row("a", 1, moment), read(row("a", 2, moment)))
	e := event("run", "a")
	e.Body, e.URL, e.Data = new("body"), new("https://example.com/"), []byte(`{"a": 1}`)
	at := place(t, store, e)
	planPushes(t, store)
	before := claimDeliveries(t, store, time.Minute)
	want := []storage.Delivery{{
		UserID: "a", Position: at, Token: in.Token, Platform: "IOS", Kind: e.Kind, Category: e.Category, Title: e.Title,
		Body: e.Body, URL: e.URL, Data: e.Data, Badge: 2,
	}}
	want[0].ID = before[0].ID
	if got := before[0].Age; got < 0 || got > time.Minute {
		t.Errorf("age: got %s, want some milliseconds", got)
	}
	if diff := cmp.Diff(want, before, anyAge); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
	if got := claimDeliveries(t, store, time.Minute); len(got) != 0 {
		t.Errorf("claimed again: got %d, want none", len(got))
	}
	if diff := cmp.Diff(line{state: "sending", isLeased: true}, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// A delivery whose device or notification is gone is claimed all the same, to be settled.
func TestClaimDeliveriesOfWhatIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sql              string
		hasToken, isGone bool
	}{
		"nothing":              {`SELECT`, true, false},
		"device disabled":      {`UPDATE devices SET disabled_at = now(), disabled_reason = 'x'`, false, false},
		"device unregistered":  {`DELETE FROM devices`, false, false},
		"notification deleted": {`DELETE FROM notifications`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			store, conn := open(t, databaseURL), connect(t, databaseURL)
			register(t, store, "a", phone("one"))
			place(t, store, event("run", "a"))
			planPushes(t, store)
			exec(t, conn, tt.sql)
			claimed := claimDeliveries(t, store, time.Minute)
			if got, want := len(claimed), 1; got != want {
				t.Fatalf("got %d claimed, want %d", got, want)
			}
			if got := claimed[0].Token != ""; got != tt.hasToken {
				t.Errorf("has a token: got %v, want %v", got, tt.hasToken)
			}
			if got := claimed[0].IsGone; got != tt.isGone {
				t.Errorf("gone: got %v, want %v", got, tt.isGone)
			}
		})
	}
}

func TestClaimDeliveriesConcurrently(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	stores := []*storage.Store{open(t, databaseURL), open(t, databaseURL)}
	conn := connect(t, databaseURL)
	const n = 3000
	deliveries(t, conn, n)
	var mu sync.Mutex
	claims := map[inbox.UUID]int{}
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			for {
				claimed, err := stores[g%2].ClaimDeliveries(t.Context(), inbox.ProviderExpo, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if len(claimed) == 0 {
					return
				}
				mu.Lock()
				for _, d := range claimed {
					claims[d.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	wantOnceEach(t, claims, n)
}

// Who holds a row in a transaction keeps nobody from the others.
func TestClaimsDoNotWait(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	deliveries(t, conn, 3)
	exec(t, conn, `BEGIN`)
	exec(t, conn, `SELECT FROM push_deliveries WHERE user_id = 'u2' FOR UPDATE`)
	var users []string
	for _, d := range claimDeliveries(t, store, time.Minute) {
		users = append(users, d.UserID)
	}
	exec(t, conn, `ROLLBACK`)
	less := func(a, b string) bool { return a < b }
	if diff := cmp.Diff([]string{"u1", "u3"}, users, sortStrings(less)); diff != "" {
		t.Errorf("claimed (-want +got):\n%s", diff)
	}
}

func TestClaimsByProvider(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	deliveries(t, conn, 2)
	exec(t, conn, `UPDATE push_deliveries SET provider = 'WEB_PUSH' WHERE user_id = 'u2'`)
	claimed, err := store.ClaimDeliveries(t.Context(), inbox.ProviderWebPush, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(claimed) != 1 || claimed[0].UserID != "u2" {
		t.Errorf("got %v, want that of u2", claimed)
	}
}

func TestFailLostSends(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	register(t, store, "a", phone("one"))
	claimed := sending(t, store, "run", "a")
	lost := func() int {
		t.Helper()
		n, err := store.FailLostSends(t.Context(), "lost")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got, want := lost(), 0; got != want {
		t.Errorf("within the lease: got %d lost, want %d", got, want)
	}
	exec(t, conn, `UPDATE push_deliveries SET leased_until = now() - interval '1 ms'`)
	if got, want := lost(), 1; got != want {
		t.Errorf("after the lease: got %d lost, want %d", got, want)
	}
	want := line{state: "failed", err: "lost", isSettled: true}
	for _, when := range []string{"lost", "reported too late"} {
		if diff := cmp.Diff(want, lineOf(t, conn), cmp.AllowUnexported(line{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		reportSends(t, store, storage.Report{ID: claimed[0].ID, Status: inbox.PushSent, Ticket: new("ticket")})
	}
	if got := claimDeliveries(t, store, time.Minute); len(got) != 0 {
		t.Errorf("claimed again: got %d, want none", len(got))
	}
}

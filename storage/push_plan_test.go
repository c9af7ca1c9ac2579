package storage_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// pushes returns the states of a user's pushes by their tokens.
func pushes(t testing.TB, store *storage.Store, n *inbox.Notification) map[string]inbox.PushStatus {
	t.Helper()
	if err := store.Ledger(t.Context(), []*inbox.Notification{n}); err != nil {
		t.Fatal(err)
	}
	states := map[string]inbox.PushStatus{}
	for _, p := range n.PushDeliveries {
		states[p.Device.Token] = p.Status
	}
	return states
}

// Each switch, each state of it, each category.
func TestT56PlanBySettings(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	switches := map[string]*bool{"unset": nil, "on": new(true), "off": new(false)}
	for push, pushOn := range switches {
		for inApp, inAppOn := range switches {
			for email, emailOn := range switches {
				for _, category := range []string{"comment", "other"} {
					name := fmt.Sprintf("T-57 PUSH %s, IN_APP %s, EMAIL %s, of %s", push, inApp, email, category)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						user := strings.ReplaceAll(name, " ", "")
						device := register(t, store, user, phone(user))
						for channel, enabled := range map[inbox.Channel]*bool{
							inbox.ChannelPush: pushOn, inbox.ChannelInApp: inAppOn, inbox.ChannelEmail: emailOn,
						} {
							if enabled == nil {
								continue
							}
							p := inbox.Preference{Category: "comment", Channel: channel, Enabled: *enabled}
							if _, _, err := store.SetPreference(t.Context(), user, p); err != nil {
								t.Fatal(err)
							}
						}
						e := event("run", user)
						e.Category = category
						isOff := func(p *bool) bool { return category == "comment" && p != nil && !*p }
						result := dispatch(t, store, e)
						if isOff(inAppOn) {
							wantStatuses(t, result, user+" MUTED")
							if got := len(feed(t, store, user)); got != 0 {
								t.Errorf("got %d notifications, want none", got)
							}
							return
						}
						wantStatuses(t, result, user+" CREATED")
						want := map[string]inbox.PushStatus{device.Token: inbox.PushQueued}
						if isOff(pushOn) {
							want[device.Token] = inbox.PushSuppressed
						}
						var got map[string]inbox.PushStatus
						eventually(t, "the push is planned, perhaps by another test", func() bool {
							planPushes(t, store)
							got = pushes(t, store, feed(t, store, user)[0])
							return len(got) > 0
						})
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("pushes (-want +got):\n%s", diff)
						}
					})
				}
			}
		}
	}
}

// What the caller mutes is suppressed, whatever the settings; without ownSettings these do not count.
func TestPlanMuted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		isMuted, ownSettings, isOff bool
		want                        inbox.PushStatus
	}{
		"nothing says no":                        {false, true, false, inbox.PushQueued},
		"the settings say no":                    {false, true, true, inbox.PushSuppressed},
		"the caller says no":                     {true, true, false, inbox.PushSuppressed},
		"the caller alone is asked and says no":  {true, false, false, inbox.PushSuppressed},
		"the caller alone is asked and says yes": {false, false, true, inbox.PushQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storagetest.New(t)
			device := register(t, store, "a", phone("one"))
			p := inbox.Preference{Category: "c", Channel: inbox.ChannelPush, Enabled: !tt.isOff}
			if _, _, err := store.SetPreference(t.Context(), "a", p); err != nil {
				t.Fatal(err)
			}
			place(t, store, event("run", "a"))
			queued := claimPushes(t, store, time.Minute)
			var muted []int64
			if tt.isMuted {
				muted = idsOf(queued)
			}
			if _, err := store.PlanPushes(t.Context(), idsOf(queued), muted, tt.ownSettings); err != nil {
				t.Fatal(err)
			}
			n := feed(t, store, "a")[0]
			if diff := cmp.Diff(map[string]inbox.PushStatus{device.Token: tt.want}, pushes(t, store, n)); diff != "" {
				t.Errorf("pushes (-want +got):\n%s", diff)
			}
			line := n.PushDeliveries[0]
			if got, want := line.SettledAt != nil, tt.want == inbox.PushSuppressed; got != want {
				t.Errorf("settled: got %v, want %v", got, want)
			}
		})
	}
}

func TestPlanDevices(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	for _, name := range []string{"one", "two", "off", "gone"} {
		register(t, store, "a", phone(name))
	}
	place(t, store, event("run", "a"))
	// Those that are on when it is planned count.
	exec(t, conn, `UPDATE devices SET disabled_at = now(), disabled_reason = 'x' WHERE token LIKE '%off%'`)
	exec(t, conn, `DELETE FROM devices WHERE token LIKE '%gone%'`)
	queued := claimPushes(t, store, time.Minute)
	for i, want := range []int{2, 0} { // planned twice, written once
		got, err := store.PlanPushes(t.Context(), idsOf(queued), nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("time %d: got %d deliveries, want %d", i+1, got, want)
		}
	}
	want := map[string]inbox.PushStatus{phone("one").Token: inbox.PushQueued, phone("two").Token: inbox.PushQueued}
	if diff := cmp.Diff(want, pushes(t, store, feed(t, store, "a")[0])); diff != "" {
		t.Errorf("pushes (-want +got):\n%s", diff)
	}
	// A line that is there stays as it is, even where the notification were queued once more.
	exec(t, conn, `UPDATE push_deliveries SET state = 'failed', error = 'x', settled_at = now()`)
	exec(t, conn, `INSERT INTO push_queue (user_id, notification_at, notification_id, category)
		SELECT user_id, notification_at, notification_id, 'c' FROM push_deliveries LIMIT 1`)
	if got, want := planPushes(t, store), 0; got != want {
		t.Errorf("queued once more: got %d deliveries, want %d", got, want)
	}
	if got, want := value[int](t, conn, `SELECT count(*) FROM push_queue`), 0; got != want {
		t.Errorf("got %d rows left in the queue, want %d", got, want)
	}
}

// Each claim is one goroutine's alone while its lease lasts, and anybody's after that.
func TestClaimPushesConcurrently(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	stores := []*storage.Store{open(t, databaseURL), open(t, databaseURL)}
	conn := connect(t, databaseURL)
	const n = 3000
	exec(t, conn, `INSERT INTO push_queue (user_id, notification_at, notification_id, category)
		SELECT 'u' || i, now(), gen_random_uuid(), 'c' FROM generate_series(1, $1::int) i`, n)
	var mu sync.Mutex
	claims := map[int64]int{}
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			for {
				claimed, err := stores[g%2].ClaimPushes(t.Context(), time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if len(claimed) == 0 {
					return
				}
				mu.Lock()
				for _, q := range claimed {
					claims[q.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	wantOnceEach(t, claims, n)
	exec(t, conn, `UPDATE push_queue SET leased_until = leased_until - interval '1 minute'`)
	if got, want := len(claimPushes(t, stores[0], time.Minute)), storage.PushBatch; got != want {
		t.Errorf("after the lease: got %d claims, want %d", got, want)
	}
}

// wantOnceEach checks that n things were claimed once each.
func wantOnceEach[K comparable](t testing.TB, claims map[K]int, n int) {
	t.Helper()
	if got := len(claims); got != n {
		t.Errorf("got %d claimed, want %d", got, n)
	}
	for id, times := range claims {
		if times != 1 {
			t.Fatalf("%v: claimed %d times, want once", id, times)
		}
	}
}

package retention_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
	"belfry/retention"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// halves are what a dispatch that is cut in two would leave, each with what selects it.
var halves = map[string]string{
	"notifications without a claim": `notifications n WHERE NOT EXISTS (
		SELECT FROM claims c WHERE (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id))`,
	"claims without a notification": `claims c WHERE NOT EXISTS (
		SELECT FROM notifications n WHERE (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id))`,
	"queued pushes without a notification": `push_queue q WHERE NOT EXISTS (
		SELECT FROM notifications n WHERE (q.user_id, q.notification_at, q.notification_id) = (n.user_id, n.created_at, n.id))`,
	"deliveries without a notification": `push_deliveries p WHERE NOT EXISTS (
		SELECT FROM notifications n WHERE (p.user_id, p.notification_at, p.notification_id) = (n.user_id, n.created_at, n.id))`,
	"tags without an item": `item_tags t WHERE NOT EXISTS (
		SELECT FROM items i WHERE (i.user_id, i.id) = (t.user_id, t.id))`,
}

// wantNoHalves checks that whatever is there is there as a whole.
func (r *rig) wantNoHalves(t testing.TB) {
	t.Helper()
	for what, rows := range halves {
		if n := value[int](t, r, `SELECT count(*) FROM `+rows); n > 0 {
			t.Errorf("got %d %s, want none", n, what)
		}
	}
}

// startPush runs a push worker against a simulator until stop is called.
func (r *rig) startPush(t testing.TB) (stop func()) {
	t.Helper()
	server := httptest.NewServer(exposim.New(exposim.Config{Limit: -1}))
	t.Cleanup(server.Close)
	client := expo.New(expo.Config{BaseURL: server.URL, Limit: -1, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(client.Close)
	w := push.NewWorker(push.Config{
		Store: r.store, Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: client},
		PollInterval: time.Millisecond, ReceiptInterval: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

// Twenty producers tell users of events while these register devices, put items, and are erased, and while
// the push worker plans and sends: whatever is left in the end is whole.
func TestEraseUserRace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	users := []string{"ada", "bela", "cleo"}
	stopPush := r.startPush(t)
	// Over a pool of its own: it must not wait for the producers at theirs.
	j := r.janitor(retention.Config{Store: storagetest.Open(t, storage.Config{URL: r.databaseURL})})
	var producers, erasers sync.WaitGroup
	for p := range 20 {
		producers.Go(func() {
			for n := range 40 {
				// The claims of events from before an erasure go with it, so that some come twice.
				title := fmt.Sprint(p, "-", n/2)
				if _, err := r.store.Dispatch(t.Context(), event(title, &users[n%3], users...)); err != nil {
					t.Error(err)
				}
				r.disturb(t, users[rand.IntN(3)])
			}
		})
	}
	done := make(chan struct{})
	erasures := 0
	erasers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				r.eraseInPassing(t, j, users[erasures%3])
				erasures++
			}
		}
	})
	producers.Wait()
	close(done)
	erasers.Wait()
	eventually(t, "no push is under way", func() bool {
		return value[bool](t, r, `SELECT NOT EXISTS (SELECT FROM push_queue)
			AND NOT EXISTS (SELECT FROM push_deliveries WHERE settled_at IS NULL)`)
	})
	stopPush()
	t.Logf("%d erasures", erasures)
	r.wantNoHalves(t)
	for _, u := range users {
		if err := j.EraseUser(t.Context(), u); err != nil {
			t.Error(err)
		}
		r.wantNoTrace(t, u)
	}
}

// disturb has a user do what users do.
func (r *rig) disturb(t *testing.T, userID string) {
	device := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: fmt.Sprint("ExponentPushToken[", userID, rand.IntN(5), "]")}
	if _, _, err := r.store.RegisterDevice(t.Context(), userID, device); err != nil {
		t.Error(err)
	}
}

// eraseInPassing erases a user, again where a deadlock with the push worker has cut that off.
func (r *rig) eraseInPassing(t *testing.T, j *retention.Janitor, userID string) {
	for {
		err := j.EraseUser(t.Context(), userID)
		if err == nil {
			return
		}
		if inbox.ErrorCode(err) != inbox.Unavailable {
			t.Error(err)
			return
		}
	}
}

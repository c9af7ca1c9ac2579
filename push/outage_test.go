package push_test

import (
	"context"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/devdb"
	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/storage/storagetest"
)

// Postgres goes away in the middle of sending, and comes back. Nothing is shown twice, and no line of the
// ledger stays open; of what was being claimed or written down just then nobody knows, and it has failed.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*testing.T, *devdb.Cluster){
		"stopped for 5 s": stopped,
		"kill -9":         killed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 3000
			cluster, databaseURL := storagetest.Cluster(t)
			r := newRigOver(t, databaseURL, slow(100*time.Millisecond))
			client := r.expo(t, expo.Config{Timeout: 2 * time.Second})
			r.start(t, push.Config{
				Senders:     map[inbox.Provider]push.Sender{inbox.ProviderExpo: client},
				SendTimeout: 4 * time.Second, Lease: 8 * time.Second,
			})
			r.dispatch(t, "hello", r.crowd(t, n)...)
			eventually(t, "some are shown", func() bool { return r.sim.Stats().Delivered >= 500 })
			outage(t, cluster)
			if got := r.sim.Stats().Delivered; got == n {
				t.Error("all was sent before Postgres went away")
			}
			r.reconnect(t)
			r.settle(t)

			states := r.states(t)
			t.Logf("%d shown, ledger %v", r.wantAtMostOnce(t), states)
			if got := states["delivered"] + states["failed lease expired"]; got != n {
				t.Errorf("got %v, want %d delivered or lost", states, n)
			}
			// At most what six requests and a claim had under way.
			if got, most := states["failed lease expired"], 7*100; got > most {
				t.Errorf("got %d lost, want %d at most", got, most)
			}
			shown := r.shown()
			for k, state := range r.lines(t) {
				if state == "delivered" && shown[k] != 1 {
					t.Errorf("%s: delivered, but shown %d times", k, shown[k])
				}
			}
		})
	}
}

// stopped ends Postgres in order and opens it again on its directory.
func stopped(t *testing.T, cluster *devdb.Cluster) {
	t.Helper()
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	away := time.NewTimer(5 * time.Second)
	defer away.Stop()
	<-away.C
	again, err := devdb.Open(t.Context(), devdb.Config{
		Dir: cluster.Dir(), Volatile: true, Logger: slog.New(slog.DiscardHandler),
		Settings: map[string]string{"synchronous_commit": "on"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}

// killed kills Postgres, which its supervisor then starts again.
func killed(t *testing.T, cluster *devdb.Cluster) {
	t.Helper()
	pid := cluster.Pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Postgres was started again", func() bool { now := cluster.Pid(); return now != 0 && now != pid })
}

// reconnect waits until Postgres takes connections again.
func (r *rig) reconnect(t *testing.T) {
	t.Helper()
	eventually(t, "Postgres takes connections", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, r.databaseURL)
		if err == nil {
			_ = r.conn.Close(ctx)
			r.conn = conn
		}
		return err == nil
	})
}

package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"belfry/devdb"
	"belfry/inbox"
	"belfry/storage/storagetest"
)

const (
	outage = 10 * time.Second
	// soon is how long anything may take to be answered without a database, and how long Belfry may take
	// to be itself again once the database is back.
	soon = 5 * time.Second
)

// Postgres goes away and comes back. Meanwhile everything is answered, soon and in words that clients
// understand; nothing that was acknowledged is lost, and nobody has to restart Belfry.
func TestOutage(t *testing.T) {
	t.Parallel()
	cluster, databaseURL := storagetest.Cluster(t)
	server := serve(t, databaseURL)
	c := backendOf(t, server)
	p := &producers{t: t, told: newLedger()}
	p.current.Store(c)
	var isOver atomic.Bool
	for i := range 4 {
		p.work.Go(func() {
			for n := 0; !isOver.Load(); n++ {
				if err := p.insist(fmt.Sprintf("run-%d-%d", i, n)); err != nil {
					t.Errorf("producer %d: %v", i, err)
					return
				}
			}
		})
	}
	eventually(t, "the producers work", func() bool { return p.acked.Load() > 50 })
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkOutage(t, c)
	reopen(t, cluster.Dir())
	back, acked := time.Now(), p.acked.Load()
	eventually(t, "ready again", func() bool {
		status, _, err := c.get(t.Context(), "/readyz")
		return err == nil && status == http.StatusOK && p.acked.Load() > acked
	})
	t.Logf("recovered in %s; %d requests refused, slowest answer %s", time.Since(back), p.refused.Load(), p.slowest())
	if took := time.Since(back); took > soon {
		t.Errorf("it took %s to recover", took)
	}
	isOver.Store(true)
	p.work.Wait()
	if p.refused.Load() == 0 || p.dropped.Load() > 0 || p.slowest() > soon {
		t.Errorf("%d requests refused, %d not answered, the slowest took %s", p.refused.Load(), p.dropped.Load(), p.slowest())
	}
	p.told.check(t, connect(t, databaseURL))
	if code := server.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A server may be started before its database, as happens where one command starts both.
func TestServeBeforePostgres(t *testing.T) {
	t.Parallel()
	cluster, databaseURL := storagetest.Cluster(t)
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := serve(t, databaseURL)
	select {
	case <-server.exited:
		t.Fatalf("did not wait: %s", server.stderr)
	case <-time.After(time.Second):
	}
	if servingLine.MatchString(server.stderr.String()) {
		t.Error("serves without a database")
	}
	reopen(t, cluster.Dir())
	if _, err := backendOf(t, server).dispatch(t.Context(), "run", "ada"); err != nil {
		t.Error(err)
	}
}

// checkOutage sees the time through without a database.
func checkOutage(t *testing.T, c *client) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(outage); time.Now().Before(end); <-tick.C {
		for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
			if status, body, err := c.get(t.Context(), path); status != want {
				t.Fatalf("%s: %d %q %v", path, status, body, err)
			}
		}
		began := time.Now()
		got, err := c.ask(t.Context(), `{ viewer { unreadCount } }`, nil)
		if took := time.Since(began); took > soon {
			t.Errorf("answered after %s", took)
		}
		if err != nil || len(got.Errors) == 0 || got.Errors[0].Extensions.Code != string(inbox.Unavailable) {
			t.Fatalf("HTTP %d, errors %+v, %v", got.Status, got.Errors, err)
		}
	}
}

// reopen starts the Postgres of storagetest.Cluster once more.
func reopen(t *testing.T, dir string) {
	t.Helper()
	cluster, err := devdb.Open(t.Context(), devdb.Config{
		Dir: dir, Volatile: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Settings: map[string]string{"max_connections": "200", "synchronous_commit": "on"},
	})
	if err != nil {
		t.Fatalf("reopen %s: %v", filepath.Base(dir), err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
}

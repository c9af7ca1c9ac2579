package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"belfry/storage/storagetest"
)

// crowd are the recipients of every event in a storm.
var crowd = []string{"ada", "bela", "chen", "dara", "edo", "fay"}

// shuffled returns the crowd in an order of its own: two dispatches of one event claim the same rows, and
// the order in which they are named must not matter.
func shuffled() []string {
	s := slices.Clone(crowd)
	rand.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// stormRuns returns the run ids of n events.
func stormRuns(n int) []string {
	runs := make([]string, n)
	for i := range runs {
		runs[i] = fmt.Sprintf("run-%04d", i)
	}
	return runs
}

// Every event is dispatched four times at the same moment, twice through each of two servers, 64 requests
// at once. Each recipient gets it once, everybody is told the same id, and nobody waits for a deadlock to
// be found.
func TestStormOfDuplicates(t *testing.T) {
	t.Parallel()
	const groups, producers, events = 16, 4, 1000
	databaseURL := storagetest.URL(t)
	servers := []*process{serve(t, databaseURL), serve(t, databaseURL)}
	clients := []*client{backendOf(t, servers[0]), backendOf(t, servers[1])}
	told, began := newLedger(), time.Now()
	var all sync.WaitGroup
	runs := stormRuns(events)
	for group := range slices.Chunk(runs, (events+groups-1)/groups) {
		all.Go(func() {
			for _, run := range group {
				var each sync.WaitGroup
				for i := range producers {
					each.Go(func() {
						results, err := clients[i%2].dispatch(t.Context(), run, shuffled()...)
						if err := errors.Join(err, told.add(run, results)); err != nil {
							t.Error(err)
						}
					})
				}
				each.Wait()
			}
		})
	}
	all.Wait()
	t.Logf("%d dispatches in %s", producers*events, time.Since(began))
	for _, p := range servers {
		if code := p.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	conn := connect(t, databaseURL)
	told.check(t, conn)
	if got, want := told.size(), events*len(crowd); got != want || len(told.created) != want {
		t.Errorf("%d notifications, %d of them told as created, want %d", got, len(told.created), want)
	}
	// The servers' sessions have ended, and with them what they had counted is counted here.
	if n := count(t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// A server that is killed in the middle leaves no half of a dispatch behind, and forgets none that it has
// answered.
func TestStormOfKills(t *testing.T) {
	t.Parallel()
	const kills, clients, events, between = 10, 8, 300, 50
	databaseURL := storagetest.URL(t)
	victim := serve(t, databaseURL)
	p := &producers{t: t, told: newLedger()}
	p.current.Store(backendOf(t, victim))
	p.run(clients, stormRuns(events))
	for i := range kills {
		eventually(t, "the storm goes on", func() bool { return p.acked.Load() > int64(between*(i+1)) })
		victim.kill()
		victim = serve(t, databaseURL)
		p.current.Store(backendOf(t, victim))
	}
	p.work.Wait()
	t.Logf("%d dispatches done, %d attempts cut off", p.acked.Load(), p.dropped.Load())
	if p.dropped.Load() == 0 {
		t.Error("no request was cut off: the storm is too weak")
	}

	conn := connect(t, databaseURL)
	if got, want := p.told.size(), events*len(crowd); got != want {
		t.Errorf("%d notifications, want %d", got, want)
	}
	p.told.check(t, conn)
	p.told.replay(t, p.current.Load(), stormRuns(events))
	p.told.check(t, conn)
}

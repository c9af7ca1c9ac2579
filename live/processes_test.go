package live_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// process is a hub with a store and a broker of its own, as a process has them.
type process struct {
	store *storage.Store
	hub   *live.Hub
}

func startProcess(t *testing.T, databaseURL string, broker func(*storage.Store, *slog.Logger) live.Broker) *process {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	store := storagetest.Open(t, storage.Config{URL: databaseURL, Logger: logger})
	p := &process{store: store, hub: live.NewHub(live.Config{
		ReadBadges: store.Badges,
		ReadFeeds: func(ctx context.Context, users []string) (map[string]live.FeedState, error) {
			states := map[string]live.FeedState{}
			read, err := store.FeedStates(ctx, users, live.WindowSize)
			for u, s := range read {
				states[u] = live.FeedState{Badge: s.Badge, Feed: s.Feed}
			}
			return states, err
		},
		Broker: broker(store, logger), Logger: logger,
	})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.hub.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return p
}

// follow keeps the newest badge that a subscriber of the process has had; -1 before the first.
func (p *process) follow(t *testing.T, user string) *atomic.Int32 {
	t.Helper()
	var last atomic.Int32
	last.Store(-1)
	badges := live.SubscribeBadge(t.Context(), p.hub, user, func(_ string, b inbox.Badge) int32 { return b.Unread })
	go func() {
		for {
			select {
			case v := <-badges:
				last.Store(v)
			case <-t.Context().Done():
				return
			}
		}
	}()
	return &last
}

// dispatch gives a user a notification and tells the hub.
func (p *process) dispatch(ctx context.Context, user, run string) (inbox.Cursor, error) {
	results, err := p.store.Dispatch(ctx, &inbox.Event{
		RunID: &run, Kind: "k", Category: "c", Title: "t", Recipients: []string{user},
	})
	p.hub.Changed(user)
	if err != nil {
		return inbox.Cursor{}, err
	}
	return results[0].Position, nil
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited for %s in vain", what)
		case <-ticker.C:
		}
	}
}

// What one process marks, the subscribers of the other hear of.
func TestProcessesTellEachOther(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, string) brokers{
		"postgres": postgresBrokers, "nats": func(t *testing.T, _ string) brokers { return natsBrokers(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := storagetest.URL(t)
			b := open(t, databaseURL)
			one, two := startProcess(t, databaseURL, b.connect), startProcess(t, databaseURL, b.connect)
			here, there, other := one.follow(t, "ada"), two.follow(t, "ada"), two.follow(t, "bela")
			await(t, "the first badges", func() bool { return here.Load() == 0 && there.Load() == 0 && other.Load() == 0 })
			at, err := one.dispatch(t.Context(), "ada", "r")
			if err != nil {
				t.Fatal(err)
			}
			await(t, "the dispatch", func() bool { return here.Load() == 1 && there.Load() == 1 })
			if _, err := two.store.MarkRead(t.Context(), "ada", []inbox.Cursor{at}); err != nil {
				t.Fatal(err)
			}
			two.hub.Changed("ada")
			await(t, "the mark", func() bool { return here.Load() == 0 && there.Load() == 0 })
			if got := other.Load(); got != 0 {
				t.Errorf("bela's badge: got %d, want 0", got)
			}
		})
	}
}

// The broker breaks while 2,000 changes are made: in the end every subscriber has the database's count, and
// not by the sweep, which comes only after 30 s.
func TestABrokenBrokerLosesNothing(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, string) brokers{
		"postgres": postgresBrokers, "nats": func(t *testing.T, _ string) brokers { return natsBrokers(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const users, changes = 20, 2000
			databaseURL := storagetest.URL(t)
			b := open(t, databaseURL)
			one, two := startProcess(t, databaseURL, b.connect), startProcess(t, databaseURL, b.connect)
			var badges []*atomic.Int32
			for u := range users {
				user := fmt.Sprint("user", u)
				badges = append(badges, one.follow(t, user), two.follow(t, user))
			}
			allAt := func(n int32) bool {
				for _, badge := range badges {
					if badge.Load() != n {
						return false
					}
				}
				return true
			}
			await(t, "the first badges", func() bool { return allAt(0) })
			for n := range changes {
				p := one
				if n%2 == 1 {
					p = two
				}
				if _, err := p.dispatch(t.Context(), fmt.Sprint("user", n%users), fmt.Sprint(n)); err != nil {
					t.Fatal(err)
				}
				if n == changes/4 || n == changes/2 || n == changes-10 {
					b.breakIt(t)
				}
			}
			await(t, "all badges", func() bool { return allAt(changes / users) })
		})
	}
}

// counter counts the statements of a name.
type counter struct {
	name  string
	count atomic.Int32
}

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(data.SQL, "-- name: "+c.name+"\n") {
		c.count.Add(1)
	}
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Case T-48: NOTIFY takes a lock of the whole database at commit, so however many dispatch at once, there
// are at most fifty a second, none of them in a dispatch's own transaction. What that is worth, make bench
// shows.
func TestT48DispatchesShareANotify(t *testing.T) {
	t.Parallel()
	notifies := &counter{name: "Notify"}
	store := storagetest.Open(t, storage.Config{URL: storagetest.URL(t), Tracer: notifies})
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	p := &process{store: store, hub: live.NewHub(live.Config{
		ReadBadges: store.Badges, Broker: live.NewPostgres(store, storage.HintLimit, logger), Logger: logger,
	})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.hub.Run(ctx)
	}()
	badge := p.follow(t, "ada")
	const dispatchers, each = 64, 20
	started := time.Now()
	var group sync.WaitGroup
	for d := range dispatchers {
		group.Go(func() {
			for n := range each {
				if _, err := p.dispatch(ctx, "ada", fmt.Sprint(d, "-", n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(started)
	await(t, "the badge", func() bool { return badge.Load() == dispatchers*each })
	if most := int32(took/(20*time.Millisecond)) + 2; notifies.count.Load() > most {
		t.Errorf("got %d notifies in %s, want at most %d", notifies.count.Load(), took, most)
	}
	cancel()
	<-done
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
)

// memory measures what an idle subscription costs, and the same with gqlgen's own transport.
func (b *bench) memory(ctx context.Context) error {
	for _, m := range []struct{ name, path, target string }{
		{"idle subscription", "/graphql", "at most 20.0 kB and 2 goroutines"},
		{"idle subscription, gqlgen's transport", "/gqlgen", ""},
	} {
		s, err := b.start(ctx)
		if err != nil {
			return err
		}
		bytes, goroutines, err := s.costOfSockets(ctx, m.path, b.sockets)
		s.stop()
		if err != nil {
			return err
		}
		b.report(m.name, fmt.Sprintf("%.1f kB resident, %.1f goroutines", bytes/1000, goroutines), m.target)
	}
	return nil
}

func (s *server) costOfSockets(ctx context.Context, path string, count int) (bytes, goroutines float64, err error) {
	// What the process takes once, for its first sockets, is not what one more takes.
	warm, err := s.subscribeAll(ctx, path, 50)
	if err != nil {
		return 0, 0, err
	}
	defer closeAll(warm)
	before, err := s.figures(ctx)
	if err != nil {
		return 0, 0, err
	}
	subs, err := s.subscribeAll(ctx, path, count)
	if err != nil {
		return 0, 0, err
	}
	defer closeAll(subs)
	after, err := s.figures(ctx)
	n := float64(count)
	return float64(after.Resident-before.Resident) / n, float64(after.Goroutines-before.Goroutines) / n, err
}

// latency measures the time from a commit in another process to the client's badge, for each broker.
func (b *bench) latency(ctx context.Context) error {
	brokers := []struct {
		name, env string
		open      func(*storage.Store, *slog.Logger) (live.Broker, error)
	}{{"Postgres", "", func(s *storage.Store, l *slog.Logger) (live.Broker, error) {
		return live.NewPostgres(s, storage.HintLimit, l), nil
	}}}
	if url := os.Getenv(natsVariable); url != "" {
		brokers = append(brokers, struct {
			name, env string
			open      func(*storage.Store, *slog.Logger) (live.Broker, error)
		}{"NATS", natsVariable + "=" + url, func(_ *storage.Store, l *slog.Logger) (live.Broker, error) { return live.OpenNATS(url, l) }})
	}
	for _, br := range brokers {
		s, err := b.start(ctx, br.env)
		if err != nil {
			return err
		}
		times, err := b.latencies(ctx, s, br.open)
		s.stop()
		if err != nil {
			return err
		}
		b.report("commit to badge by "+br.name+", 500 changes a second", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, of %d",
			milliseconds(times[len(times)/2]), milliseconds(times[len(times)*99/100]), len(times)), "")
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// latencies makes changes in this process, which has no subscribers, and waits for them in the clients of
// the other.
func (b *bench) latencies(
	ctx context.Context, s *server, open func(*storage.Store, *slog.Logger) (live.Broker, error),
) ([]time.Duration, error) {
	logger := slog.New(slog.DiscardHandler)
	store, err := storage.Open(ctx, storage.Config{URL: b.databaseURL, Logger: logger})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	broker, err := open(store, logger)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	hub := live.NewHub(live.Config{Broker: broker, Logger: logger})
	go hub.Run(running)

	subs, err := s.subscribeAll(ctx, "/graphql", b.subscribers)
	if err != nil {
		return nil, err
	}
	defer closeAll(subs)
	before, err := store.UnreadCounts(ctx, allUsers(b.subscribers))
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	committed := map[string]time.Time{} // guarded by mu: by user and count
	var times []time.Duration           // guarded by mu
	for i, sub := range subs {
		go func() {
			for {
				n, err := sub.next(running)
				if err != nil {
					return
				}
				now := time.Now()
				mu.Lock()
				if at, ok := committed[key(i, n)]; ok {
					times = append(times, now.Sub(at))
				}
				mu.Unlock()
			}
		}()
	}
	counts := map[int]int{}
	tick := time.NewTicker(time.Second / 500)
	defer tick.Stop()
	for n := range 500 * b.seconds {
		<-tick.C
		i := rand.IntN(b.subscribers) //nolint:gosec // Which user is no secret.
		user, run := userName(i), fmt.Sprint("latency-", time.Now().UnixNano(), n)
		// The count that this change leads to is known before the commit, so that no badge comes too early.
		counts[i]++
		mu.Lock()
		if _, err := store.Dispatch(ctx, &inbox.Event{
			RunID: &run, Kind: "k", Category: "c", Title: "t", Recipients: []string{user},
		}); err != nil {
			mu.Unlock()
			return nil, err
		}
		committed[key(i, int(before[user].Unread)+counts[i])] = time.Now()
		mu.Unlock()
		hub.Changed(user)
	}
	<-time.After(time.Second)
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(times)
	if len(times) == 0 {
		return nil, errors.New("no badge came")
	}
	return times, nil
}

func key(user, count int) string { return fmt.Sprint(user, ":", count) }

func allUsers(n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = userName(i)
	}
	return users
}

// throughput compares dispatching with and without live subscribers, in turns.
func (b *bench) throughput(ctx context.Context) error {
	s, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.dispatchRate(ctx, b.subscribers, time.Second); err != nil {
		return err
	}
	var without, with []float64
	for range b.rounds {
		rate, err := s.dispatchRate(ctx, b.subscribers, time.Duration(b.seconds)*time.Second)
		if err != nil {
			return err
		}
		without = append(without, rate)
		subs, err := s.subscribeAll(ctx, "/graphql", b.subscribers)
		if err != nil {
			return err
		}
		for _, sub := range subs {
			go func() {
				for {
					if _, err := sub.next(ctx); err != nil {
						return
					}
				}
			}()
		}
		rate, err = s.dispatchRate(ctx, b.subscribers, time.Duration(b.seconds)*time.Second)
		closeAll(subs)
		if err != nil {
			return err
		}
		with = append(with, rate)
	}
	slices.Sort(without)
	slices.Sort(with)
	b.report(fmt.Sprintf("64 dispatchers, with %d live subscribers of the same users against none", b.subscribers),
		fmt.Sprintf("%.2f (%.0f/s against %.0f/s)", with[len(with)/2]/without[len(without)/2], with[len(with)/2], without[len(without)/2]),
		"at least 0.90")
	return nil
}

// dispatchRate returns how many dispatches a second 64 producers get through.
func (s *server) dispatchRate(ctx context.Context, users int, length time.Duration) (float64, error) {
	const producers = 64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: producers}}
	defer client.CloseIdleConnections()
	var done atomic.Int64
	errs := make(chan error, producers)
	started := time.Now()
	var group sync.WaitGroup
	for p := range producers {
		group.Go(func() {
			for n := 0; time.Since(started) < length; n++ {
				//nolint:gosec // Which user is no secret.
				err := s.dispatch(ctx, client, fmt.Sprint(started.UnixNano(), "-", p, "-", n), userName(rand.IntN(users)))
				if err != nil {
					errs <- err
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(done.Load()) / time.Since(started).Seconds(), nil
	}
}

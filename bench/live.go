package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
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

// change makes one change of a user and returns when it was made; it is heard of by the way that is measured.
type change func(ctx context.Context, run, user string) (time.Time, error)

// latency measures the time from a change to the client's badge, for each broker.
func (b *bench) latency(ctx context.Context) error {
	nats, stopNATS, err := startNATS(ctx)
	if err != nil {
		return err
	}
	defer stopNATS()
	logger := slog.New(slog.DiscardHandler)
	for _, w := range []struct {
		name, env string
		change    func(context.Context, *server) (change, func(), error)
	}{
		{"request to badge, in one process", "", inProcess},
		{"commit to badge by Postgres", "", b.fromAnother(func(s *storage.Store) (live.Broker, error) {
			return live.NewPostgres(s, storage.HintLimit, logger), nil
		})},
		{"commit to badge by NATS", natsVariable + "=" + nats, b.fromAnother(func(*storage.Store) (live.Broker, error) {
			return live.OpenNATS(nats, logger)
		})},
	} {
		s, err := b.start(ctx, w.env)
		if err != nil {
			return err
		}
		times, err := b.latencies(ctx, s, w.change)
		s.stop()
		if err != nil {
			return err
		}
		b.report(w.name+", 500 changes a second", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms, of %d",
			milliseconds(times[len(times)/2]), milliseconds(times[len(times)*99/100]), len(times)), "")
	}
	return nil
}

// inProcess changes by a request to the very server that has the subscribers.
func inProcess(_ context.Context, s *server) (change, func(), error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	return func(ctx context.Context, run, user string) (time.Time, error) {
		started := time.Now()
		return started, s.dispatch(ctx, client, run, user)
	}, client.CloseIdleConnections, nil
}

// fromAnother changes in this process, which has no subscribers and tells the other by a broker.
func (b *bench) fromAnother(open func(*storage.Store) (live.Broker, error)) func(context.Context, *server) (change, func(), error) {
	return func(ctx context.Context, _ *server) (change, func(), error) {
		logger := slog.New(slog.DiscardHandler)
		store, err := storage.Open(ctx, storage.Config{URL: b.databaseURL, Logger: logger})
		if err != nil {
			return nil, nil, err
		}
		broker, err := open(store)
		if err != nil {
			return nil, nil, err
		}
		running, stop := context.WithCancel(ctx)
		hub := live.NewHub(live.Config{Broker: broker, Logger: logger})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			hub.Run(running)
		}()
		return func(ctx context.Context, run, user string) (time.Time, error) {
				_, err := store.Dispatch(ctx, &inbox.Event{
					RunID: &run, Kind: "k", Category: "c", Title: "t", Recipients: []string{user},
				})
				committed := time.Now()
				hub.Changed(user)
				return committed, err
			}, func() {
				stop()
				<-ended
				store.Close()
			}, nil
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// latencies makes changes and waits for them in the clients. It returns the times in order.
func (b *bench) latencies(
	ctx context.Context, s *server, open func(context.Context, *server) (change, func(), error),
) ([]time.Duration, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	change, closeChange, err := open(running, s)
	if err != nil {
		return nil, err
	}
	defer closeChange()
	subs, err := s.subscribeAll(ctx, "/graphql", b.subscribers)
	if err != nil {
		return nil, err
	}
	defer closeAll(subs)
	var mu sync.Mutex
	made := map[string]time.Time{}    // guarded by mu: when, by user and the count that it leads to
	arrived := map[string]time.Time{} // guarded by mu: when, likewise
	counts := make([]int, len(subs))  // of each user, as this function has made them
	for i, sub := range subs {
		counts[i] = sub.first
		go func() {
			for {
				n, err := sub.next(running)
				if err != nil {
					return
				}
				mu.Lock()
				arrived[key(i, n)] = time.Now()
				mu.Unlock()
			}
		}()
	}
	tick := time.NewTicker(time.Second / 500)
	defer tick.Stop()
	for n := range 500 * b.seconds {
		<-tick.C
		i := rand.IntN(len(subs)) //nolint:gosec // Which user is no secret.
		at, err := change(ctx, fmt.Sprint("latency-", time.Now().UnixNano(), n), userName(i))
		if err != nil {
			return nil, err
		}
		counts[i]++
		mu.Lock()
		made[key(i, counts[i])] = at
		mu.Unlock()
	}
	<-time.After(time.Second)
	mu.Lock()
	defer mu.Unlock()
	var times []time.Duration
	for k, at := range made {
		// What the next change has replaced before it was told has no badge of its own.
		if came, ok := arrived[k]; ok {
			times = append(times, max(0, came.Sub(at)))
		}
	}
	if len(times) == 0 {
		return nil, errors.New("no badge came")
	}
	slices.Sort(times)
	return times, nil
}

func key(user, count int) string { return fmt.Sprint(user, ":", count) }

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
	times, err := s.dispatchLoad(ctx, func() string {
		return userName(rand.IntN(users)) //nolint:gosec // Which user is no secret.
	}, length)
	return float64(len(times)) / length.Seconds(), err
}

// dispatchLoad has 64 producers dispatch to users that pick names, and returns how long each dispatch took.
func (s *server) dispatchLoad(ctx context.Context, pick func() string, length time.Duration) ([]time.Duration, error) {
	const producers = 64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: producers}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var times []time.Duration // guarded by mu
	var failed error          // guarded by mu
	started := time.Now()
	var group sync.WaitGroup
	for p := range producers {
		group.Go(func() {
			for n := 0; time.Since(started) < length; n++ {
				began := time.Now()
				err := s.dispatch(ctx, client, fmt.Sprint(started.UnixNano(), "-", p, "-", n), pick())
				mu.Lock()
				times = append(times, time.Since(began))
				failed = errors.Join(failed, err)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	slices.Sort(times)
	return times, failed
}

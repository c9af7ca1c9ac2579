package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/retention"
	"belfry/storage"
)

const (
	// sweepRate is how many dispatches a second there are while what is old is removed.
	sweepRate = 200
	// sweepUsers is among how many users what is old is spread. It lies in the table as it came, so that each
	// batch finds its rows in as many blocks.
	sweepUsers = 50_000
	// sweepTTL is between the age of what is to go and of what is to stay.
	sweepTTL = 30 * 24 * time.Hour
)

// seedExpired writes notifications that are too old, a third of them unread.
const seedExpired = `INSERT INTO notifications (user_id, created_at, id, kind, category, title, read_at)
	SELECT 'old-' || i % $2, now() - interval '60 days' + i * interval '0.4 s', gen_random_uuid(), 'comment', 'reviews',
	  'A title of some length', CASE WHEN i % 3 > 0 THEN now() END
	FROM generate_series(1, $1::int) i`

// sweep measures how much longer dispatches take while what is old is removed (case T-72), at a fixed rate, so
// that a slow answer does not put off the next request. The database is its own: what others have left behind is
// vacuumed at the same time, and dispatches would wait for that.
func (b *bench) sweep(ctx context.Context) (err error) {
	database, err := openDatabase(ctx, "")
	if err != nil {
		return err
	}
	shared := b.databaseURL
	b.databaseURL = database.url
	defer func() {
		b.databaseURL = shared
		err = errors.Join(err, database.Close())
	}()
	conn, err := pgx.Connect(ctx, b.databaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	expired, quiet := b.expired, time.Duration(2*b.seconds)*time.Second
	if b.rounds == 1 {
		expired, quiet = expired/50, time.Duration(b.seconds)*time.Second
	}
	if _, err := conn.Exec(ctx, seedExpired, expired, sweepUsers); err != nil {
		return err
	}
	for _, sql := range []string{`VACUUM ANALYZE notifications`, `CHECKPOINT`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	s, err := b.start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.dispatchSteadily(ctx, time.Second); err != nil { // warm up
		return err
	}
	without, err := s.dispatchSteadily(ctx, quiet)
	if err != nil {
		return err
	}
	with, gone, took, err := b.dispatchAndSweep(ctx, s)
	if err != nil {
		return err
	}
	if gone < expired {
		return fmt.Errorf("%d of %d went", gone, expired)
	}
	if err := b.checkCounts(ctx, conn); err != nil {
		return err
	}
	p99, quietP99 := milliseconds(with[len(with)*99/100]), milliseconds(without[len(without)*99/100])
	b.report(fmt.Sprintf("dispatch while %d expired rows go, p99 against none going", expired),
		fmt.Sprintf("%.2f (p50 %.1f ms, p99 %.1f ms, against %.1f and %.1f; %d rows in %.1f s, %.0f a second)", p99/quietP99,
			milliseconds(with[len(with)/2]), p99, milliseconds(without[len(without)/2]), quietP99,
			gone, took.Seconds(), float64(gone)/took.Seconds()),
		"at most 2")
	return nil
}

// dispatchAndSweep dispatches for as long as a sweep takes.
func (b *bench) dispatchAndSweep(ctx context.Context, s *server) (
	times []time.Duration, gone int, took time.Duration, err error,
) {
	logger := slog.New(slog.DiscardHandler)
	store, err := storage.Open(ctx, storage.Config{URL: b.databaseURL, Logger: logger})
	if err != nil {
		return nil, 0, 0, err
	}
	defer store.Close()
	janitor := retention.New(retention.Config{
		Store: store, TTL: retention.TTL{Notifications: sweepTTL}, Changed: func(...string) {}, Logger: logger,
	})
	loading, stop := context.WithCancel(ctx)
	defer stop()
	var sweepErr error
	var group sync.WaitGroup
	began := time.Now()
	group.Go(func() {
		defer stop()
		swept, _, err := janitor.Sweep(ctx, 0)
		for _, k := range swept {
			gone += k.Rows
		}
		took, sweepErr = time.Since(began), err
	})
	times, err = s.dispatchUntil(ctx, loading.Done())
	group.Wait()
	return times, gone, took, errors.Join(err, sweepErr)
}

// checkCounts compares the count of everybody who was told of something with the list.
func (b *bench) checkCounts(ctx context.Context, conn *pgx.Conn) error {
	store, err := storage.Open(ctx, storage.Config{URL: b.databaseURL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	rows, err := conn.Query(ctx, `SELECT user_id, count(*) FILTER (WHERE read_at IS NULL AND archived_at IS NULL)
		FROM notifications GROUP BY user_id`)
	if err != nil {
		return err
	}
	lists := map[string]int{}
	var user string
	var list int
	if _, err := pgx.ForEachRow(rows, []any{&user, &list}, func() error { lists[user] = list; return nil }); err != nil {
		return err
	}
	badges, err := store.Badges(ctx, slices.Collect(maps.Keys(lists)))
	if err != nil {
		return err
	}
	for user, list := range lists {
		if count := int(badges[user].Unread); count != min(list, inbox.MaxCount) {
			return fmt.Errorf("%s: the count is %d, the list has %d", user, count, list)
		}
	}
	return nil
}

// dispatchSteadily is dispatchUntil for so long.
func (s *server) dispatchSteadily(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	loading, stop := context.WithTimeout(ctx, length)
	defer stop()
	return s.dispatchUntil(ctx, loading.Done())
}

// dispatchUntil dispatches at sweepRate and returns how long each took from when it was due.
func (s *server) dispatchUntil(ctx context.Context, done <-chan struct{}) ([]time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sweepRate}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var times []time.Duration // guarded by mu
	var failed error          // guarded by mu
	var group sync.WaitGroup
	defer group.Wait()
	tick := time.NewTicker(time.Second / sweepRate)
	defer tick.Stop()
	started := time.Now()
	for n := 0; ; n++ {
		select {
		case <-done:
			group.Wait()
			slices.Sort(times)
			return times, failed
		case <-tick.C:
		}
		due := started.Add(time.Duration(n+1) * time.Second / sweepRate)
		user := userName(rand.IntN(1000)) //nolint:gosec // Which user is no secret.
		group.Go(func() {
			err := s.dispatch(ctx, client, "sweep-"+strconv.FormatInt(started.UnixNano(), 36)+"-"+strconv.Itoa(n), user)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(due))
			failed = errors.Join(failed, err)
		})
	}
}

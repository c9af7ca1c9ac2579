package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/push/exposim"
)

// receiptInterval is how long after a send its receipt is looked for.
const receiptInterval = 200 * time.Millisecond

// simulator is Expo, in this process.
type simulator struct {
	*exposim.Simulator
	url   string
	close func()
}

func startSimulator(ctx context.Context, h http.Handler) (string, func(), error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: idle}
	go func() { _ = srv.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = srv.Close() }, nil
}

func newSimulator(ctx context.Context, cfg exposim.Config) (*simulator, error) {
	sim := exposim.New(cfg)
	url, stop, err := startSimulator(ctx, sim)
	return &simulator{sim, url, stop}, err
}

// phoneUser is the name of a user who has a device.
func phoneUser(i int) string { return "phone-" + strconv.Itoa(i) }

// prepare empties the push tables and gives users a device each.
func (b *bench) prepare(ctx context.Context, devices int) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, b.databaseURL)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `TRUNCATE push_queue, push_deliveries, devices`)
	if err == nil {
		_, err = conn.Exec(ctx, `INSERT INTO devices (user_id, id, provider, token, token_hash, platform)
			SELECT 'phone-' || u, gen_random_uuid(), 'EXPO', 'ExponentPushToken[' || u || ']', sha256(u::text::bytea), 'IOS'
			FROM generate_series(0, $1::int - 1) u`, devices)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `VACUUM ANALYZE`)
	}
	return conn, err
}

// dispatchToPhones dispatches to so many users with devices, in calls of 10,000.
func (s *server) dispatchToPhones(ctx context.Context, count int) error {
	for first := 0; first < count; first += 10_000 {
		var users []string
		for i := first; i < min(first+10_000, count); i++ {
			users = append(users, phoneUser(i))
		}
		if err := s.dispatch(ctx, http.DefaultClient, fmt.Sprint("phones-", time.Now().UnixNano(), first), users...); err != nil {
			return err
		}
	}
	return nil
}

// awaitSettled waits until so many deliveries are final, all of them well. While it waits it asks what costs
// next to nothing: to count them all each time would take a fifth of Postgres's time.
func awaitSettled(ctx context.Context, conn *pgx.Conn, count int) error {
	if _, err := conn.Exec(ctx, `SET enable_seqscan = off`); err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for isBusy := true; isBusy; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM push_queue ORDER BY id)
			OR EXISTS (SELECT FROM push_deliveries WHERE state = 'queued')
			OR EXISTS (SELECT FROM push_deliveries WHERE state = 'sending')
			OR EXISTS (SELECT FROM push_deliveries WHERE state = 'sent')`).Scan(&isBusy)
		if err != nil {
			return err
		}
	}
	var delivered, all int
	err := conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'delivered'), count(*) FROM push_deliveries`).Scan(&delivered, &all)
	if err == nil && (delivered != count || all != count) {
		err = fmt.Errorf("of %d deliveries %d are delivered, of %d", all, delivered, count)
	}
	return err
}

// pushThroughput measures deliveries a second through the simulator with no limit, ticket and receipt
// included.
func (b *bench) pushThroughput(ctx context.Context) error {
	sim, err := newSimulator(ctx, exposim.Config{Limit: -1})
	if err != nil {
		return err
	}
	defer sim.close()
	var rates []float64
	for range b.rounds {
		rate, err := b.pushOnce(ctx, sim, b.devices)
		if err != nil {
			return err
		}
		rates = append(rates, rate)
	}
	slices.Sort(rates)
	b.report(fmt.Sprintf("pushes from dispatch to receipt, %d devices, no limit", b.devices),
		fmt.Sprintf("%.0f a second", rates[len(rates)/2]), "aim at 10000 a second")
	return nil
}

func (b *bench) pushOnce(ctx context.Context, sim *simulator, devices int) (float64, error) {
	conn, err := b.prepare(ctx, devices)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()
	s, err := b.start(ctx, expoVariable+"="+sim.url, expoLimitVariable+"=-1")
	if err != nil {
		return 0, err
	}
	defer s.stop()
	started := time.Now()
	if err := s.dispatchToPhones(ctx, devices); err != nil {
		return 0, err
	}
	if err := awaitSettled(ctx, conn, devices); err != nil {
		return 0, err
	}
	return float64(devices) / time.Since(started).Seconds(), nil
}

// pushRate measures how closely the limit of 600 a second is kept to, and that the simulator, which keeps
// to it too, has refused nothing.
func (b *bench) pushRate(ctx context.Context) error {
	sim, err := newSimulator(ctx, exposim.Config{})
	if err != nil {
		return err
	}
	defer sim.close()
	count := 600 * (b.seconds + 2)
	conn, err := b.prepare(ctx, count)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	s, err := b.start(ctx, expoVariable+"="+sim.url, expoLimitVariable+"=0")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.dispatchToPhones(ctx, count); err != nil {
		return err
	}
	if err := awaitSettled(ctx, conn, count); err != nil {
		return err
	}
	sent := sim.Deliveries()
	length := sent[len(sent)-1].At.Sub(sent[0].At)
	// The first request's messages were there at the start of the length, and not within it.
	first := 0
	for first < len(sent) && sent[first].At.Equal(sent[0].At) {
		first++
	}
	requests, needed := sim.Stats().SendRequests, (count+99)/100
	b.report("pushes with the limit of 600 a second", fmt.Sprintf("%.1f a second, %d of %d requests refused",
		float64(len(sent)-first)/length.Seconds(), max(0, requests-needed), requests), "600 ± 2 %, no 429")
	return nil
}

// pushCost compares dispatching to users with devices with dispatching to users without, in turns, and the
// same while the provider hangs.
func (b *bench) pushCost(ctx context.Context) error {
	const users = 2000
	conn, err := b.prepare(ctx, users)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	sim, err := newSimulator(ctx, exposim.Config{})
	if err != nil {
		return err
	}
	defer sim.close()
	hang, stopHang, err := startSimulator(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	if err != nil {
		return err
	}
	defer stopHang()
	type load struct{ rate, p99 []float64 }
	loads := map[string]*load{"none": {}, "push": {}, "hang": {}}
	for range b.rounds {
		for _, l := range []struct{ name, url, prefix string }{
			{"none", sim.url, "user-"}, {"push", sim.url, "phone-"}, {"hang", hang, "phone-"},
		} {
			s, err := b.start(ctx, expoVariable+"="+l.url, expoLimitVariable+"=0")
			if err != nil {
				return err
			}
			length := time.Duration(b.seconds) * time.Second
			times, err := s.dispatchLoad(ctx, func() string {
				return l.prefix + strconv.Itoa(rand.IntN(users)) //nolint:gosec // Which user is no secret.
			}, length)
			s.stop()
			if err != nil {
				return err
			}
			loads[l.name].rate = append(loads[l.name].rate, float64(len(times))/length.Seconds())
			loads[l.name].p99 = append(loads[l.name].p99, milliseconds(times[len(times)*99/100]))
		}
	}
	median := func(v []float64) float64 {
		slices.Sort(v)
		return v[len(v)/2]
	}
	none, push, hanging := loads["none"], loads["push"], loads["hang"]
	b.report("dispatch to users with devices, against users without", fmt.Sprintf("%.2f (%.0f/s against %.0f/s)",
		median(push.rate)/median(none.rate), median(push.rate), median(none.rate)), "at least 0.85")
	b.report("dispatch while the provider hangs, p99 against one that answers", fmt.Sprintf("%.2f (%.0f ms against %.0f ms)",
		median(hanging.p99)/median(push.p99), median(hanging.p99), median(push.p99)), "about 1")
	return nil
}

// pushMany dispatches to 600,000 recipients, a sixth of them with devices, and looks at the memory (case T-73).
func (b *bench) pushMany(ctx context.Context) error {
	devices := b.recipients / 6
	conn, err := b.prepare(ctx, devices)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	sim, err := newSimulator(ctx, exposim.Config{Limit: -1})
	if err != nil {
		return err
	}
	defer sim.close()
	s, err := b.start(ctx, expoVariable+"="+sim.url, expoLimitVariable+"=-1")
	if err != nil {
		return err
	}
	defer s.stop()
	var times []time.Duration
	var most int64
	started := time.Now()
	for call := range b.recipients / 10_000 {
		users := make([]string, 10_000)
		for i := range users {
			n := call*10_000 + i
			users[i] = "many-" + strconv.Itoa(n)
			if n%6 == 0 {
				users[i] = phoneUser(n / 6)
			}
		}
		began := time.Now()
		if err := s.dispatch(ctx, http.DefaultClient, fmt.Sprint("many-", started.UnixNano(), call), users...); err != nil {
			return err
		}
		times = append(times, time.Since(began))
		most = max(most, s.resident())
	}
	took := time.Since(started)
	err = awaitSettled(ctx, conn, devices)
	most = max(most, s.resident())
	if len(times) == 0 || err != nil {
		return errors.Join(err, ctx.Err())
	}
	slices.Sort(times)
	b.report(fmt.Sprintf("dispatch to %d in calls of 10,000, with %d devices", b.recipients, devices),
		fmt.Sprintf("%.1f s, a call p50 %.0f ms, p99 %.0f ms; all delivered after %.1f s; %d MB resident at most", took.Seconds(),
			milliseconds(times[len(times)/2]), milliseconds(times[len(times)*99/100]), time.Since(started).Seconds(), most>>20),
		"under 256 MB")
	return nil
}

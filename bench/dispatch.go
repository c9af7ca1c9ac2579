package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// dispatches measures dispatching: to one, again, and to many.
func (b *bench) dispatches(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	s, err := st.startBelfry(ctx, nil)
	if err != nil {
		return err
	}
	defer s.stop()
	conn, err := connectAsBelfry(ctx, st.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := b.dispatchToOne(ctx, st, s); err != nil {
		return err
	}
	if err := b.dispatchAgain(ctx, st, conn); err != nil {
		return err
	}
	return b.dispatchToMany(ctx, s, conn)
}

// dispatchToOne compares dispatches to one recipient with pgbench and the same transaction.
func (b *bench) dispatchToOne(ctx context.Context, st *stage, s *server) error {
	const name = "dispatch to one, requests a second against pgbench"
	statement, err := dispatchStatement(ctx, st.url, "pgbench", []string{sampleUser})
	if err != nil {
		return err
	}
	script, variables, err := st.dispatchScript(statement)
	if err != nil {
		return err
	}
	database, err := st.newPgbench("dispatch", script, variables)
	if err != nil && !errors.Is(err, errNoPeer) {
		return err
	}
	newSource, err := newDispatches(st.sample(checked))
	if err != nil {
		return err
	}
	var loads []load
	var rates, ratios []float64
	for range b.rounds {
		l, err := s.load(ctx, time.Duration(b.seconds)*time.Second, newSource)
		if err != nil {
			return err
		}
		loads = append(loads, l)
		if database == nil {
			continue
		}
		rate, err := database.run(ctx, st.url, b.seconds)
		if err != nil {
			return err
		}
		rates, ratios = append(rates, rate), append(ratios, l.rate()/rate)
	}
	one := contestant{loads: loads}
	if database == nil {
		b.report(name, "no pgbench", "")
	} else {
		b.measured(name, ratio, ratios, atLeast(0.5), fmt.Sprintf("%.0f/s, %.0f/s", one.middle(load.rate), middle(rates)))
	}
	b.report(fmt.Sprintf("dispatch to one, %d connections", connections), fmt.Sprintf("%.0f/s, p99 %.1f ms, CPU %.3f ms",
		one.middle(load.rate), one.middle(func(l load) float64 { return l.percentile(99) }), one.middle(load.cpuEach)), "")
	return nil
}

// dispatchAgain compares a duplicate with a new dispatch: to one, and to many, where the work outweighs the
// statement's own cost.
func (b *bench) dispatchAgain(ctx context.Context, st *stage, conn *pgx.Conn) error {
	for _, recipients := range []int{1, 100} {
		var users []string
		for i := range recipients {
			users = append(users, userName(i))
		}
		slices.Sort(users)
		again, err := dispatchStatement(ctx, st.url, fmt.Sprint("again-", recipients), users)
		if err != nil {
			return err
		}
		run := 0
		anew := func() statement {
			s := again
			s.args = slices.Clone(again.args)
			ids := make([]pgtype.UUID, recipients)
			for i := range ids {
				run++
				ids[i] = pgtype.UUID{Bytes: [16]byte{6: 0x70, 11: byte(recipients), 12: byte(run >> 24), 13: byte(run >> 16), 14: byte(run >> 8), 15: byte(run)}, Valid: true}
			}
			s.args[1], s.args[2] = ids, fmt.Sprint("notification:anew-", recipients, "-", run, ":")
			return s
		}
		ratios, err := b.compareStatements(ctx, conn, always(again), anew)
		if err != nil {
			return err
		}
		b.measured(fmt.Sprintf("a duplicate against a new dispatch, to %d, time in the database", recipients), ratio, ratios, atMost(0.3), "")
	}
	return nil
}

// The rows that a dispatch writes, by hand.
const sameRowsSQL = `
WITH claimed AS (
  INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
  SELECT 'user-' || n, 'notification:' || $1::text || ':comment:user-' || n, sha256('content'), clock_timestamp(), gen_random_uuid()
  FROM generate_series(0, $2::int - 1) n
  RETURNING user_id, subject_at, subject_id)
INSERT INTO notifications (user_id, created_at, id, kind, category, actor_id, title, body, url)
SELECT user_id, subject_at, subject_id, 'comment', 'reviews', 'user-1', 'Zoë Müller commented on "Release 12 & what follows"',
  'Looks good to me, but see line 40.', 'https://git.example.com/acme/repo-12/pull/345'
FROM claimed`

// dispatchToMany compares one call to 10,000 recipients with an INSERT ... SELECT of the same rows.
func (b *bench) dispatchToMany(ctx context.Context, s *server, conn *pgx.Conn) error {
	const recipients = 10_000
	users := make([]string, recipients)
	for i := range users {
		users[i] = userName(i)
	}
	w, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	var ratios, calls []float64
	for round := range 3 * b.rounds {
		run := "many-" + strconv.Itoa(round)
		request, err := postAs("backend", []inbox.Scope{inbox.ScopeDispatch}, dispatchQuery, event(run, users))
		if err != nil {
			return err
		}
		began := time.Now()
		if _, err := w.ask(&exchange{request, holds(fmt.Sprintf(`"createdCount":%d`, recipients))}); err != nil {
			return err
		}
		call := time.Since(began)
		began = time.Now()
		if _, err := conn.Exec(ctx, sameRowsSQL, "hand-"+run, recipients); err != nil {
			return err
		}
		ratios = append(ratios, call.Seconds()/time.Since(began).Seconds())
		calls = append(calls, milliseconds(call))
	}
	b.measured(fmt.Sprintf("dispatch to %d in one call, time against INSERT ... SELECT of the same rows", recipients),
		ratio, ratios, atMost(1.5), fmt.Sprintf("%.0f ms", middle(calls)))
	return nil
}

package retention_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/retention"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// rig is a database with a janitor, and what that says.
type rig struct {
	databaseURL string
	store       *storage.Store
	conn        *pgx.Conn // for the test's own questions
	log         *text
	told        *told
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{databaseURL: storagetest.URL(t), log: &text{}, told: &told{}}
	r.store = storagetest.Open(t, storage.Config{URL: r.databaseURL})
	r.conn = connect(t, r.databaseURL)
	return r
}

func connect(t testing.TB, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// janitor makes a janitor; what cfg does not say is the rig's.
func (r *rig) janitor(cfg retention.Config) *retention.Janitor {
	if cfg.Store == nil {
		cfg.Store = r.store
	}
	cfg.Changed, cfg.Logger = r.told.add, slog.New(slog.NewTextHandler(r.log, nil))
	return retention.New(cfg)
}

// run runs a janitor until the test ends or stop is called.
func run(t testing.TB, j *retention.Janitor) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// erase has a user erased.
func (r *rig) erase(t testing.TB, userID string) {
	t.Helper()
	if err := r.janitor(retention.Config{}).EraseUser(t.Context(), userID); err != nil {
		t.Fatal(err)
	}
}

// exec runs one statement, or several where there are no args.
func (r *rig) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := r.conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
}

// value returns what a statement of one row and one column says.
func value[T any](t testing.TB, r *rig, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := r.conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	return v
}

// dispatch tells users of an event whose run is its title.
func (r *rig) dispatch(t testing.TB, title string, actor *string, users ...string) {
	t.Helper()
	if _, err := r.store.Dispatch(t.Context(), event(title, actor, users...)); err != nil {
		t.Fatal(err)
	}
}

func event(title string, actor *string, users ...string) *inbox.Event {
	return &inbox.Event{RunID: &title, Kind: "kind", Category: "c", Title: title, ActorID: actor, Recipients: users}
}

// eventually polls until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(50 * time.Second)
	defer limit.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("still not so after 50 s: %s", what)
		}
	}
}

// told are the users of whose changes a janitor has told.
type told struct {
	mu    sync.Mutex
	users []string // guarded by mu
}

func (d *told) add(userIDs ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users = append(d.users, userIDs...)
}

// take returns them, sorted and once each, and forgets them.
func (d *told) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	users := d.users
	d.users = nil
	slices.Sort(users)
	return slices.Compact(users)
}

// text collects a log.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}

package push_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// rig is a database and a simulator of Expo, between which a test's workers work.
type rig struct {
	databaseURL string
	store       *storage.Store
	conn        *pgx.Conn // for the test's own questions
	sim         *exposim.Simulator
	server      *httptest.Server
}

// newRig makes a rig with a database of its own.
func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOver(t, storagetest.URL(t), nil)
}

// newRigOver makes a rig over a database. Wrap, where it is not nil, stands in front of the simulator.
func newRigOver(t testing.TB, databaseURL string, wrap func(http.Handler) http.Handler) *rig {
	t.Helper()
	r := &rig{databaseURL: databaseURL, sim: exposim.New(exposim.Config{Limit: -1})}
	r.store = storagetest.Open(t, storage.Config{URL: databaseURL})
	var err error
	if r.conn, err = pgx.Connect(t.Context(), databaseURL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = r.conn.Close(ctx) // fails where the test has ended Postgres
	})
	handler := http.Handler(r.sim)
	if wrap != nil {
		handler = wrap(r.sim)
	}
	r.server = httptest.NewUnstartedServer(handler)
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.server.Start()
	t.Cleanup(r.server.Close)
	return r
}

// logger writes to the test's output.
func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// expo returns a client of the simulator.
func (r *rig) expo(t testing.TB, cfg expo.Config) *expo.Client {
	t.Helper()
	cfg.BaseURL, cfg.Limit, cfg.Logger = r.server.URL, -1, logger(t)
	client := expo.New(cfg)
	t.Cleanup(client.Close)
	return client
}

// worker makes a worker that is quick to look; what cfg does not say is the rig's.
func (r *rig) worker(t testing.TB, cfg push.Config) *push.Worker {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = r.store
	}
	if cfg.Senders == nil {
		cfg.Senders = map[inbox.Provider]push.Sender{inbox.ProviderExpo: r.expo(t, expo.Config{})}
	}
	if cfg.PollInterval == 0 {
		cfg.PollInterval = 50 * time.Millisecond
	}
	if cfg.ReceiptInterval == 0 {
		cfg.ReceiptInterval = 100 * time.Millisecond
	}
	cfg.Logger = logger(t)
	return push.NewWorker(cfg)
}

// start runs a worker until the test ends or stop is called, which returns when Run has.
func (r *rig) start(t testing.TB, cfg push.Config) (stop func()) {
	t.Helper()
	return run(t, r.worker(t, cfg))
}

func run(t testing.TB, w *push.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// token returns Expo's token of that name.
func token(name string) string { return "ExponentPushToken[" + name + "]" }

// register registers phones of a user by the names of their tokens.
func (r *rig) register(t testing.TB, userID string, names ...string) {
	t.Helper()
	for _, name := range names {
		in := inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token(name)}
		if _, ok, err := r.store.RegisterDevice(t.Context(), userID, in); err != nil || !ok {
			t.Fatalf("register a device: got %v, %v, want true", ok, err)
		}
	}
}

// dispatch tells users of an event whose run is its title, and returns where the first finds it.
func (r *rig) dispatch(t testing.TB, title string, users ...string) inbox.Cursor {
	t.Helper()
	results, err := r.store.Dispatch(t.Context(), &inbox.Event{
		RunID: &title, Kind: "kind", Category: "c", Title: title, Recipients: users,
	})
	if err != nil {
		t.Fatal(err)
	}
	return results[0].Position
}

// plan plans what is queued, without a worker.
func (r *rig) plan(t testing.TB) {
	t.Helper()
	for {
		queued, err := r.store.ClaimPushes(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if len(queued) == 0 {
			return
		}
		ids := make([]int64, len(queued))
		for i, q := range queued {
			ids[i] = q.ID
		}
		if _, err := r.store.PlanPushes(t.Context(), ids, nil, true); err != nil {
			t.Fatal(err)
		}
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

// settle waits until nothing is queued and every line of the ledger is final.
func (r *rig) settle(t testing.TB) {
	t.Helper()
	eventually(t, "all is settled", func() bool {
		return value[bool](t, r, `SELECT NOT EXISTS (SELECT FROM push_queue)
			AND NOT EXISTS (SELECT FROM push_deliveries WHERE settled_at IS NULL)`)
	})
}

// lines returns the ledger: what became of each "token's name: title", in the database's words.
func (r *rig) lines(t testing.TB) map[string]string {
	t.Helper()
	rows, err := r.conn.Query(t.Context(), `SELECT coalesce(d.token, 'none'), coalesce(n.title, 'none'), p.state || coalesce(' ' || p.error, '')
		FROM push_deliveries p
		LEFT JOIN devices d ON d.user_id = p.user_id AND d.id = p.device_id
		LEFT JOIN notifications n ON n.user_id = p.user_id AND n.created_at = p.notification_at AND n.id = p.notification_id`)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	var device, title, state string
	_, err = pgx.ForEachRow(rows, []any{&device, &title, &state}, func() error {
		lines[key(device, title)] = state
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// key names the push of a title to a token.
func key(token, title string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(token, "ExponentPushToken["), "]")
	return name + ": " + title
}

// shown returns how often each push was shown on its device.
func (r *rig) shown() map[string]int {
	times := map[string]int{}
	for _, d := range r.sim.Deliveries() {
		times[key(d.Token, d.Title)]++
	}
	return times
}

// wantLines checks what became of all pushes.
func (r *rig) wantLines(t testing.TB, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, r.lines(t)); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

// wantShown checks that these were shown, once each, and nothing else.
func (r *rig) wantShown(t testing.TB, want ...string) {
	t.Helper()
	once := map[string]int{}
	for _, k := range want {
		once[k] = 1
	}
	if diff := cmp.Diff(once, r.shown()); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// wantAtMostOnce checks that nothing was shown twice, and returns how much was shown.
func (r *rig) wantAtMostOnce(t testing.TB) int {
	t.Helper()
	shown := r.shown()
	for k, times := range shown {
		if times > 1 {
			t.Errorf("%s: shown %d times, want at most once", k, times)
		}
	}
	return len(shown)
}

// names returns n names of tokens or users.
func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(prefix, i)
	}
	return list
}

// crowd registers one device for each of n users, past the store, and returns the users.
func (r *rig) crowd(t testing.TB, n int) []string {
	t.Helper()
	r.exec(t, `INSERT INTO devices (user_id, id, provider, token, token_hash)
		SELECT 'u' || i, gen_random_uuid(), 'EXPO', 'ExponentPushToken[u' || i || ']', sha256(('t' || i)::bytea)
		FROM generate_series(0, $1::int - 1) i`, n)
	return names("u", n)
}

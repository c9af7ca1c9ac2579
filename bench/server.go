package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql/handler"
	gqltransport "github.com/99designs/gqlgen/graphql/handler/transport"

	"belfry/devdb"
	"belfry/graph"
	"belfry/inbox"
	"belfry/live"
	"belfry/push"
	"belfry/push/expo"
	"belfry/resolvers"
	"belfry/retention"
	"belfry/storage"
	"belfry/transport"
)

// database is a private Postgres with Belfry's schema.
type database struct {
	*devdb.Cluster
	url string
}

// openDatabase starts it with its data in a new directory below dir, or in memory where dir is empty.
func openDatabase(ctx context.Context, dir string) (*database, error) {
	cfg := devdb.Config{
		Settings: map[string]string{
			"max_connections": "200", "fsync": "on", "synchronous_commit": "on",
			// Postgres's own defaults are for a tiny machine.
			"shared_buffers": "512MB", "max_wal_size": "4GB",
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	open := devdb.OpenTemp
	if dir != "" {
		cfg.Dir, open = filepath.Join(dir, "postgres"), devdb.Open
	}
	cluster, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &database{cluster, cluster.URL(devdb.Database)}
	if _, err := storage.Migrate(ctx, d.url); err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	return d, nil
}

// The environment of a measured process.
const (
	databaseVariable  = "BENCH_DATABASE_URL"
	natsVariable      = "BENCH_NATS_URL"
	expoVariable      = "BENCH_EXPO_URL"
	expoLimitVariable = "BENCH_EXPO_LIMIT" // messages a second; negative for none
)

// serve is the process that is measured: Belfry's API at /graphql, the same schema behind gqlgen's own
// WebSocket transport at /gqlgen, and its figures at /stats. A token is the user's id.
func serve(ctx context.Context) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, err := storage.Open(ctx, storage.Config{URL: os.Getenv(databaseVariable), Logger: logger})
	if err != nil {
		return err
	}
	defer store.Close()
	var broker live.Broker = live.NewPostgres(store, storage.HintLimit, logger)
	if url := os.Getenv(natsVariable); url != "" {
		if broker, err = live.OpenNATS(url, logger); err != nil {
			return err
		}
	}
	hub := live.NewHub(live.Config{
		ReadBadges: store.Badges, ReadFeeds: resolvers.ReadFeedStates(store), Broker: broker, Logger: logger,
	})
	go hub.Run(ctx)
	wakePush := startPush(ctx, store, logger)
	janitor := retention.New(retention.Config{Store: store, Changed: hub.Changed, Logger: logger})
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: resolvers.New(resolvers.Config{
		Store: store, Hub: hub, WakePush: wakePush, EraseUser: janitor.EraseUser,
	})})
	mux := http.NewServeMux()
	mux.Handle("/graphql", withCaller(transport.New(ctx, schema, transport.Config{
		Logger: logger, PrepareResponse: resolvers.WithLoaders, Authenticate: authenticate,
		AroundFields: graph.Render,
	})))
	stock := handler.New(schema)
	stock.AddTransport(gqltransport.Websocket{InitFunc: func(ctx context.Context, payload gqltransport.InitPayload) (context.Context, *gqltransport.InitPayload, error) {
		caller, err := authenticate(ctx, payload.GetString("token"))
		return resolvers.WithLoaders(inbox.WithCaller(ctx, caller, err)), nil, err
	}})
	mux.Handle("/gqlgen", stock)
	mux.HandleFunc("/stats", stats)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: idle}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	_ = server.Serve(listener)
	return nil
}

// startPush runs a worker against the simulator that the environment names, if it does. It returns how to
// wake it.
func startPush(ctx context.Context, store *storage.Store, logger *slog.Logger) func() {
	url := os.Getenv(expoVariable)
	if url == "" {
		return func() {}
	}
	limit, _ := strconv.Atoi(os.Getenv(expoLimitVariable))
	worker := push.NewWorker(push.Config{
		Store: store, Logger: logger, ReceiptInterval: receiptInterval,
		Senders: map[inbox.Provider]push.Sender{
			inbox.ProviderExpo: expo.New(expo.Config{BaseURL: url, Limit: limit, Logger: logger}),
		},
	})
	go worker.Run(ctx)
	return worker.Wake
}

func authenticate(_ context.Context, token string) (inbox.Caller, error) {
	return inbox.Caller{UserID: token, Scopes: []inbox.Scope{inbox.ScopeDispatch}}, nil
}

func withCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := authenticate(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		next.ServeHTTP(w, r.WithContext(inbox.WithCaller(r.Context(), caller, err)))
	})
}

// figures are what a measured process says of itself.
type figures struct {
	Goroutines int
	// Resident is in bytes, after a collection whose memory went back to the system.
	Resident int64
}

func stats(w http.ResponseWriter, _ *http.Request) {
	for range 3 {
		runtime.GC()
	}
	debug.FreeOSMemory()
	f := figures{Goroutines: runtime.NumGoroutine()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			f.Resident = pages * int64(os.Getpagesize())
		}
	}
	_ = json.NewEncoder(w).Encode(f)
}

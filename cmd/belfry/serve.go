package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"belfry/auth"
	"belfry/inbox"
	"belfry/live"
	"belfry/retention"
	"belfry/storage"
)

// serveConfig is what belfry serve is told.
type serveConfig struct {
	databaseURL   string
	listenURL     string
	natsURL       string
	listen        string
	adminListen   string
	introspection bool
	playground    bool
	generated     bool
	origins       string
	drainDelay    time.Duration
	stopTimeout   time.Duration
	activityTTL   time.Duration
	auth          auth.Config
	push          pushConfig
	ttl           retention.TTL
}

func runServe(ctx context.Context, env environment, args []string) error {
	var cfg serveConfig
	f := newFlags("serve", env)
	f.StringVar(&cfg.databaseURL, "database-url", "", "the database, as postgres://user:password@host/name (required)")
	f.StringVar(&cfg.listenURL, "listen-database-url", "", "the database without a pooler between, where database-url leads to one")
	f.StringVar(&cfg.natsURL, "nats-url", "", "NATS servers that tell other processes of changes, in place of the database")
	f.StringVar(&cfg.listen, "listen", ":8080", "the address to serve on")
	f.StringVar(&cfg.adminListen, "admin-listen", "",
		"an address for operators alone, such as 127.0.0.1:9090: /debug/pprof/, without a token; none where empty")
	f.BoolVar(&cfg.introspection, "introspection", false, "let clients read the schema")
	f.BoolVar(&cfg.playground, "playground", false, "serve GraphiQL at /playground and let clients read the schema")
	f.BoolVar(&cfg.generated, "generated-rendering", false,
		"have gqlgen's generated code render all answers: slower, to compare with, or to track down a fault")
	f.StringVar(&cfg.origins, "origins", "", "other hosts whose pages may use the API, separated by commas, such as app.example.com")
	f.DurationVar(&cfg.drainDelay, "drain-delay", time.Second,
		"how long a stop goes on serving with /readyz at 503, for load balancers to notice; at most half of stop-timeout")
	f.DurationVar(&cfg.stopTimeout, "stop-timeout", 20*time.Second, "how long a stop may take, all in all")
	activityTTLFlag(f, &cfg.activityTTL)
	f.StringVar(&cfg.auth.JWKSURL, "jwks-url", "", "where the keys of RS256, ES256 and EdDSA tokens are; instead of "+jwtSecretVariable)
	f.StringVar(&cfg.auth.Issuer, "issuer", "", "what a token's iss must be; any where empty")
	f.StringVar(&cfg.auth.Audience, "audience", "", "what a token's aud must contain; any where empty")
	pushFlags(f, &cfg.push)
	ttlFlags(f, &cfg.ttl)
	newLogger := f.logFlags("json")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	logger, logErr := newLogger()

	var stop stopStack
	defer stop.run()
	// Opened before anything is reported, so that the faults of its keys come with all others.
	verifier, authErr := openVerifier(ctx, f, cfg.auth, logger)
	if verifier != nil {
		stop.push(verifier.Close)
	}
	if err := errors.Join(cfg.check(rest), logErr, authErr); err != nil {
		return err
	}

	listener, err := listen(ctx, cfg.listen)
	if err != nil {
		return err
	}
	stop.push(func() { _ = listener.Close() })
	stopAdmin, err := startAdmin(ctx, cfg.adminListen, logger)
	if err != nil {
		return fmt.Errorf("%w; choose another address with --admin-listen", err)
	}
	stop.push(stopAdmin)
	// Not ctx: the pool outlives the signal until the requests in flight are done.
	store, err := storage.Open(context.WithoutCancel(ctx), storage.Config{
		URL: cfg.databaseURL, ListenURL: cfg.listenURL, Logger: logger,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	stop.push(func() { within(closeTimeout, store.Close) })
	if err := awaitSchema(ctx, store); err != nil {
		return err
	}
	broker, err := cfg.broker(store, logger)
	if err != nil {
		return err
	}
	hub, stopHub := startHub(ctx, store, broker, logger)
	stop.push(stopHub)
	wakePush, stopPush, err := cfg.push.startPush(ctx, f, store, logger)
	if err != nil {
		return err
	}
	stop.push(stopPush)
	janitor, stopJanitor := startJanitor(ctx, retention.Config{Store: store, TTL: cfg.ttl, Changed: hub.Changed, Logger: logger})
	stop.push(func() { within(closeTimeout, stopJanitor) })
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	stop.push(stopServing)
	srv := newServer(serving, parts{
		store: store, hub: hub, wakePush: wakePush, eraseUser: janitor.EraseUser, verifier: verifier, logger: logger,
		introspection: cfg.introspection || cfg.playground, generated: cfg.generated, activityTTL: cfg.activityTTL,
		origins: originsOf(cfg.origins), browser: servePages(cfg.playground), drainDelay: min(cfg.drainDelay, cfg.stopTimeout/2),
	})
	return srv.run(ctx, listener, cfg.stopTimeout, func(context.Context) error { return nil })
}

func (cfg serveConfig) check(rest []string) error {
	var faults []error
	if len(rest) > 0 {
		faults = append(faults, fmt.Errorf("%w: unexpected %q", errUsage, rest[0]))
	}
	if cfg.databaseURL == "" {
		faults = append(faults, fmt.Errorf("%w: database-url is required", errUsage))
	}
	if cfg.stopTimeout <= 0 {
		faults = append(faults, fmt.Errorf("%w: stop-timeout must be more than 0", errUsage))
	}
	if cfg.drainDelay < 0 {
		faults = append(faults, fmt.Errorf("%w: drain-delay must be 0 or more", errUsage))
	}
	return errors.Join(append(faults, checkActivityTTL(cfg.activityTTL), checkTTL(cfg.ttl))...)
}

// openVerifier adds the secret to what is known of the keys.
func openVerifier(ctx context.Context, f *flags, cfg auth.Config, logger *slog.Logger) (*auth.Verifier, error) {
	secret, _, err := f.secret(jwtSecretVariable)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	cfg.Secret = []byte(secret)
	verifier, err := auth.Open(ctx, cfg, logger)
	if err != nil {
		return nil, fmt.Errorf("%w: %s, or jwks-url: %w", errUsage, jwtSecretVariable, err)
	}
	return verifier, nil
}

// broker returns what carries hints to other processes. The database does it unless NATS is to.
func (cfg serveConfig) broker(store *storage.Store, logger *slog.Logger) (live.Broker, error) {
	if cfg.natsURL == "" {
		return live.NewPostgres(store, storage.HintLimit, logger), nil
	}
	broker, err := live.OpenNATS(cfg.natsURL, logger)
	if err != nil {
		return nil, fmt.Errorf("%w: nats-url: %w", errUsage, err)
	}
	return broker, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address with --listen", err)
	}
	return l, nil
}

// How long a start waits for its database, and how often it asks.
const (
	startTimeout  = 30 * time.Second
	startInterval = 250 * time.Millisecond
)

// awaitSchema waits until the database answers and has the schema that this program needs: a server and
// its database are often started together.
func awaitSchema(ctx context.Context, store *storage.Store) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	ticker := time.NewTicker(startInterval)
	defer ticker.Stop()
	for {
		err := store.CheckSchema(ctx)
		if inbox.ErrorCode(err) != inbox.Unavailable {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// closeTimeout bounds what is left to do after the requests in flight. Above all the pool waits for
// Postgres to say goodbye, which one that hangs never does.
const closeTimeout = time.Second

// within calls step and stops to wait for it after limit: the process is about to end.
func within(limit time.Duration, step func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		step()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// stopStack undoes a start, the last step first: a stop and a failed start take the same way.
type stopStack struct {
	steps []func()
}

func (s *stopStack) push(step func()) { s.steps = append(s.steps, step) }

func (s *stopStack) run() {
	for i := len(s.steps) - 1; i >= 0; i-- {
		s.steps[i]()
	}
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"belfry/auth"
	"belfry/devdb"
	"belfry/inbox"
	"belfry/live"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
	"belfry/retention"
	"belfry/storage"
)

// How long the tokens that dev prints are good for, and how long its stop may take.
const (
	devTokenTTL    = 24 * time.Hour
	devStopTimeout = 10 * time.Second
	// devReceiptDelay is how long the simulated push service takes to say what became of a push.
	devReceiptDelay = 2 * time.Second
)

// everyScope is what the third token that dev prints allows.
const everyScope = "dispatch read admin"

func runDev(ctx context.Context, env environment, args []string) error {
	f := newFlags("dev", env)
	address := f.String("listen", "127.0.0.1:8080", "the address to serve on")
	data := f.String("data", defaultDataDir(env), "the directory of the database and the secret")
	noDemo := f.Bool("no-demo", false, "leave the demo data out")
	var activityTTL time.Duration
	activityTTLFlag(f, &activityTTL)
	newLogger := f.logFlags("text")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, rest[0])
	}
	logger, err := newLogger()
	if err := errors.Join(err, checkActivityTTL(activityTTL)); err != nil {
		return err
	}

	var stop stopStack
	defer stop.run()
	listener, err := listen(ctx, *address)
	if err != nil {
		return err
	}
	stop.push(func() { _ = listener.Close() })
	secret, err := devSecret(f, *data)
	if err != nil {
		return err
	}
	verifier, err := auth.Open(ctx, auth.Config{Secret: secret}, logger)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	stop.push(verifier.Close)
	cluster, err := devdb.Open(ctx, devdb.Config{Dir: filepath.Join(*data, "postgres"), Logger: logger})
	if err != nil {
		return fmt.Errorf("private Postgres: %w", err)
	}
	stop.push(func() { _ = cluster.Close() })
	databaseURL := cluster.URL(devdb.Database)
	if _, err := storage.Migrate(ctx, databaseURL); err != nil {
		return err
	}
	store, err := storage.Open(context.WithoutCancel(ctx), storage.Config{URL: databaseURL, Logger: logger})
	if err != nil {
		return err
	}
	stop.push(store.Close)
	// Another process may serve the same database, to try how they tell each other.
	hub, stopHub := startHub(ctx, store, live.NewPostgres(store, storage.HintLimit, logger), logger)
	stop.push(stopHub)

	endpoint := endpointOf(listener.Addr())
	simulator := exposim.New(exposim.Config{ReceiptDelay: devReceiptDelay})
	wakePush, stopPush := runPush(ctx, push.Config{
		Store: store, Logger: logger, ReceiptInterval: devReceiptDelay,
		Senders: map[inbox.Provider]push.Sender{
			inbox.ProviderExpo: expo.New(expo.Config{BaseURL: strings.TrimSuffix(endpoint, "/graphql"), Logger: logger}),
		},
	})
	stop.push(stopPush)
	// Claims are kept for ever: on an old data directory the demo's events would else come again.
	janitor, stopJanitor := startJanitor(ctx, retention.Config{
		Store: store, TTL: retention.TTL{Pushes: retention.DefaultPushes}, Changed: hub.Changed, Logger: logger,
	})
	stop.push(stopJanitor)
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	stop.push(stopServing)
	greet := func(ctx context.Context) error {
		if !*noDemo {
			if err := loadDemo(ctx, endpoint, secret); err != nil {
				return fmt.Errorf("demo data: %w", err)
			}
		}
		return greetDeveloper(env.stdout, endpoint, databaseURL, secret)
	}
	browser := devPages(secret, logger)
	browser["POST /--/"] = simulator
	browser["GET /expo-sim/"] = http.StripPrefix("/expo-sim", simulator)
	srv := newServer(serving, parts{
		store: store, hub: hub, wakePush: wakePush, eraseUser: janitor.EraseUser, verifier: verifier, logger: logger,
		introspection: true, browser: browser, origins: devOrigins(), activityTTL: activityTTL, requestLevel: slog.LevelDebug,
	})
	return srv.run(ctx, listener, devStopTimeout, greet)
}

// defaultDataDir returns where dev keeps its data. As root it is not below the home directory, which the
// user that Postgres then runs as may not enter.
func defaultDataDir(env environment) string {
	if os.Geteuid() == 0 {
		return "/var/lib/belfry"
	}
	if dir, ok := env.lookup("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "belfry")
	}
	home, _ := env.lookup("HOME")
	return filepath.Join(home, ".local", "share", "belfry")
}

// devSecret returns the secret that is set, or makes one and keeps it in the data directory, so that
// tokens outlive a restart.
func devSecret(f *flags, dir string) ([]byte, error) {
	if secret, ok, err := f.secret(jwtSecretVariable); err != nil || ok {
		return []byte(secret), err
	}
	//nolint:gosec // 0755: the user that Postgres runs as must be able to pass through. The file is 0600.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(dir, "jwt-secret")
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecret(path)
	}
	if err == nil && len(secret) < auth.MinSecret {
		err = fmt.Errorf("%s has less than %d bytes: delete it to have a new one made", path, auth.MinSecret)
	}
	return secret, err
}

// makeSecret writes a new secret to a file of its own and then gives it its name, so that no kill leaves
// half a secret.
func makeSecret(path string) ([]byte, error) {
	secret := []byte(rand.Text() + rand.Text())
	tmp, err := os.CreateTemp(filepath.Dir(path), "jwt-secret-*")
	if err != nil {
		return nil, fmt.Errorf("secret: %w", err)
	}
	_, err = tmp.Write(secret)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("secret: %w", err), os.Remove(tmp.Name()))
	}
	return secret, nil
}

// endpointOf returns the API's address as a client on this machine writes it.
func endpointOf(addr net.Addr) string {
	host, port, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/graphql"}).String()
}

// greetDeveloper prints what a newcomer needs to try the API.
func greetDeveloper(w io.Writer, endpoint, databaseURL string, secret []byte) error {
	tokens := map[string]string{}
	for _, t := range []struct{ user, scope string }{{"ada", ""}, {"dara", ""}, {"demo-backend", everyScope}} {
		token, err := signToken(secret, t.user, t.scope, devTokenTTL, "", "")
		if err != nil {
			return err
		}
		tokens[t.user] = token
	}
	const query = `{ viewer { userId unreadCount notifications(first: 3) { nodes { title createdAt actor { displayName } } } } }`
	var b strings.Builder
	fmt.Fprintf(&b, "\nBelfry answers at  %s\n", endpoint)
	fmt.Fprintf(&b, "Its playground is  %s\n", strings.TrimSuffix(endpoint, "/graphql")+"/playground")
	fmt.Fprintf(&b, "Ada's phone got    %s\n", strings.TrimSuffix(endpoint, "/graphql")+"/expo-sim/deliveries")
	fmt.Fprintf(&b, "Its database is    %s\n\n", databaseURL)
	fmt.Fprintf(&b, "Tokens, good for %s:\n", devTokenTTL)
	fmt.Fprintf(&b, "  ada           %s\n", tokens["ada"])
	fmt.Fprintf(&b, "  dara          %s\n", tokens["dara"])
	fmt.Fprintf(&b, "  demo-backend  %s\n                (scopes: %s)\n\n", tokens["demo-backend"], everyScope)
	fmt.Fprintf(&b, "Try:\n\ncurl -s %s -H 'Content-Type: application/json' -H 'Authorization: Bearer %s' -d '{\"query\":\"%s\"}'\n\n",
		endpoint, tokens["ada"], query)
	_, err := io.WriteString(w, b.String())
	return err
}

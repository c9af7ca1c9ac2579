package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"belfry/live"
	"belfry/retention"
	"belfry/storage"
)

// ttlFlags adds the flags that say how long things are kept.
func ttlFlags(f *flags, ttl *retention.TTL) {
	f.DurationVar(&ttl.Notifications, "notification-ttl", 0, "how long notifications are kept after they were created, such as 2160h; 0 for ever")
	f.DurationVar(&ttl.ReadNotifications, "read-notification-ttl", 0, "the same for those that are read; 0 for as long as the others")
	f.DurationVar(&ttl.Claims, "claim-ttl", retention.DefaultClaims, "how long an event sent again notifies nobody twice, 1h or more; 0 for ever")
	f.DurationVar(&ttl.Pushes, "push-ledger-ttl", retention.DefaultPushes, "how long it is kept what became of a push; 0 for ever")
}

// minClaimTTL leaves producers time to send again what they have no answer to.
const minClaimTTL = time.Hour

// checkTTL reports all that is wrong.
func checkTTL(ttl retention.TTL) error {
	var faults []error
	for _, t := range []struct {
		flag string
		ttl  time.Duration
	}{
		{"notification-ttl", ttl.Notifications}, {"read-notification-ttl", ttl.ReadNotifications},
		{"claim-ttl", ttl.Claims}, {"push-ledger-ttl", ttl.Pushes},
	} {
		if t.ttl < 0 {
			faults = append(faults, fmt.Errorf("%w: %s must be 0 or more", errUsage, t.flag))
		}
	}
	if ttl.Claims > 0 && ttl.Claims < minClaimTTL {
		faults = append(faults, fmt.Errorf("%w: claim-ttl must be %s or more, or 0", errUsage, minClaimTTL))
	}
	return errors.Join(faults...)
}

// startJanitor starts what removes what is old. The function that it returns ends it.
func startJanitor(ctx context.Context, cfg retention.Config) (*retention.Janitor, func()) {
	j := retention.New(cfg)
	return j, inBackground(ctx, j.Run)
}

// errBusy is a sweep that is under way elsewhere.
var errBusy = errors.New("another process is removing what is old: try again later")

// runPrune sweeps once, or shows what a sweep would remove.
func runPrune(ctx context.Context, env environment, args []string) error {
	var ttl retention.TTL
	f := newFlags("prune", env)
	url := f.String("database-url", "", "the database, as postgres://user:password@host/name (required)")
	listenURL := f.String("listen-database-url", "", "the database without a pooler between, where database-url leads to one")
	isDry := f.Bool("dry-run", false, "remove nothing, count what would go")
	ttlFlags(f, &ttl)
	newLogger := f.logFlags("text")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	logger, err := newLogger()
	if len(rest) > 0 {
		err = errors.Join(err, fmt.Errorf("%w: unexpected %q", errUsage, rest[0]))
	}
	if *url == "" {
		err = errors.Join(err, fmt.Errorf("%w: database-url is required", errUsage))
	}
	if err := errors.Join(err, checkTTL(ttl)); err != nil {
		return err
	}
	store, err := openStore(ctx, storage.Config{URL: *url, ListenURL: *listenURL, Logger: logger})
	if err != nil {
		return err
	}
	defer store.Close()
	return prune(ctx, env.stdout, store, ttl, logger, *isDry)
}

func prune(ctx context.Context, w io.Writer, store *storage.Store, ttl retention.TTL, logger *slog.Logger, isDry bool) error {
	j := retention.New(retention.Config{Store: store, TTL: ttl, Logger: logger, Changed: func(userIDs ...string) {
		// The servers' subscribers hear of it by the next look at everybody otherwise.
		if err := store.Notify(ctx, live.Payloads("belfry prune", userIDs, storage.HintLimit)); err != nil {
			logger.Warn("servers not told", "users", len(userIDs), "error", err.Error())
		}
	}})
	var swept []retention.Swept
	var ok bool
	var err error
	if isDry {
		swept, ok, err = j.Count(ctx)
	} else {
		swept, ok, err = j.Sweep(ctx, 0)
	}
	if err == nil && !ok {
		return errBusy
	}
	// What went is shown after an error as well: it is gone.
	return errors.Join(listSwept(w, swept, isDry), err)
}

func listSwept(w io.Writer, swept []retention.Swept, isDry bool) error {
	heading := "GONE"
	if isDry {
		heading = "WOULD GO"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "WHAT\tBEFORE\t%s\n", heading)
	for _, s := range swept {
		before := "kept"
		if !s.Before.IsZero() {
			before = s.Before.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\n", s.Kind, before, s.Rows)
	}
	return table.Flush()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"belfry/push/exposim"
)

// expoSimStopTimeout is short: a request that was told to be slow would never end.
const expoSimStopTimeout = time.Second

func runExpoSim(ctx context.Context, env environment, args []string) error {
	f := newFlags("expo-sim", env)
	address := f.String("listen", "127.0.0.1:8090", "the address to serve on")
	var config exposim.Config
	f.StringVar(&config.AccessToken, "expo-access-token", "", "the bearer token that requests need; none where empty")
	f.IntVar(&config.Limit, "limit", 600, "how many messages a second a project may send; -1 for any number")
	f.DurationVar(&config.ReceiptDelay, "receipt-delay", 0, "how long a receipt takes to appear")
	newLogger := f.logFlags("text")
	if rest, err := f.parse(args); err != nil {
		return err
	} else if len(rest) > 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, rest[0])
	}
	logger, err := newLogger()
	if err != nil {
		return err
	}
	if config.Limit == 0 || config.ReceiptDelay < 0 {
		return fmt.Errorf("%w: limit must not be 0, and receipt-delay not negative", errUsage)
	}
	listener, err := listen(ctx, *address)
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	_, err = fmt.Fprintf(env.stdout, "Expo's push API, simulated, answers at %s\nWhat the devices got is at %s/deliveries\n\n"+
		"A token is ExponentPushToken[NAME]. One whose NAME ends with - and one of these words causes what it says:\n\n%s\n",
		base, base, exposim.Table)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{
		Handler:           logRequests(exposim.New(config), logger, slog.LevelDebug),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	logger.Info("serving", "address", listener.Addr().String())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), expoSimStopTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		return server.Close()
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/webpush"
	"belfry/storage"
)

// The secrets of push providers have no flags, like the one of tokens.
const (
	expoTokenVariable = "BELFRY_EXPO_ACCESS_TOKEN"
	vapidKeyVariable  = "BELFRY_VAPID_PRIVATE_KEY"
)

// pushConfig is by which providers pushes go out.
type pushConfig struct {
	expo           bool
	expoURL        string
	expoProject    string
	vapidSubject   string
	vapidPublicKey string
	preferencesURL string
}

// pushFlags adds the flags of pushes.
func pushFlags(f *flags, cfg *pushConfig) {
	f.BoolVar(&cfg.expo, "expo", false, "send pushes by Expo's service; a token for it is in "+expoTokenVariable)
	f.StringVar(&cfg.expoURL, "expo-url", "", "another address of Expo's service, such as that of belfry expo-sim")
	f.StringVar(&cfg.expoProject, "expo-project", "", "the project that pushes are for, as @owner/slug; tokens of others are then switched off")
	f.StringVar(&cfg.vapidSubject, "vapid-subject", "", "send Web Push; mailto: or https: where push services reach the operator")
	f.StringVar(&cfg.vapidPublicKey, "vapid-public-key", "", "the key with which browsers subscribe; its private one is in "+vapidKeyVariable)
	f.StringVar(&cfg.preferencesURL, "preferences-url", "", "an account service that says what users have switched off, in place of their settings here")
}

// webPushTTL is how long a push service keeps a message for a browser that is offline.
const webPushTTL = 24 * time.Hour

// senders returns a sender for each provider that is configured, and how to close them.
func (cfg pushConfig) senders(f *flags, logger *slog.Logger) (map[inbox.Provider]push.Sender, func(), error) {
	senders := map[inbox.Provider]push.Sender{}
	closeAll := func() {}
	var faults []error
	if cfg.expo || cfg.expoURL != "" {
		token, _, err := f.secret(expoTokenVariable)
		faults = append(faults, err)
		senders[inbox.ProviderExpo] = expo.New(expo.Config{
			BaseURL: cfg.expoURL, AccessToken: token, Project: cfg.expoProject, Logger: logger,
		})
	}
	if cfg.vapidSubject != "" {
		key, _, err := f.secret(vapidKeyVariable)
		faults = append(faults, err)
		client, err := webpush.New(webpush.Config{
			Subject: cfg.vapidSubject, PublicKey: cfg.vapidPublicKey, PrivateKey: key, TTL: webPushTTL, Logger: logger,
		})
		if err != nil {
			faults = append(faults, fmt.Errorf("web push: %w", err))
		} else {
			senders[inbox.ProviderWebPush] = client
			closeAll = client.Close
		}
	}
	if err := errors.Join(faults...); err != nil {
		closeAll()
		return nil, nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return senders, closeAll, nil
}

// startPush starts the worker, which without a provider only tidies up. It returns how to wake it, and how to
// end it: what is being sent then is sent to its end.
func (cfg pushConfig) startPush(ctx context.Context, f *flags, store *storage.Store, logger *slog.Logger) (wake, stop func(), err error) {
	senders, closeSenders, err := cfg.senders(f, logger)
	if err != nil {
		return nil, nil, err
	}
	worker := push.Config{Store: store, Senders: senders, Logger: logger}
	if cfg.preferencesURL != "" {
		if worker.Preferences, err = push.NewPreferences(cfg.preferencesURL, nil, logger); err != nil {
			closeSenders()
			return nil, nil, fmt.Errorf("%w: %w", errUsage, err)
		}
	}
	wake, stopWorker := runPush(ctx, worker)
	return wake, func() {
		stopWorker()
		closeSenders()
	}, nil
}

// runPush runs a worker until the function stop is called.
func runPush(ctx context.Context, cfg push.Config) (wake, stop func()) {
	w := push.NewWorker(cfg)
	return w.Wake, inBackground(ctx, w.Run)
}

package main

import (
	"context"
	"log/slog"

	"belfry/live"
	"belfry/resolvers"
	"belfry/storage"
)

// startHub starts what tells subscribers of changes. The function that it returns ends it.
func startHub(ctx context.Context, store *storage.Store, broker live.Broker, logger *slog.Logger) (*live.Hub, func()) {
	hub := live.NewHub(live.Config{
		ReadBadges: store.Badges, ReadFeeds: resolvers.ReadFeedStates(store), Broker: broker, Logger: logger,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		hub.Run(ctx)
	}()
	return hub, func() {
		cancel()
		<-ended
	}
}

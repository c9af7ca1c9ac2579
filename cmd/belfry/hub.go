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
	return hub, inBackground(ctx, hub.Run)
}

// inBackground runs something until the function that it returns is called, not until ctx ends: what a stop
// unwinds has an order.
func inBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

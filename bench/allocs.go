package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"

	"belfry/inbox"
	"belfry/storage"
)

// allocs measures how many allocations it takes to render a page of 100: those of a whole request, from the
// body to the answer, less those of reading the rows and of making the request.
func (b *bench) allocs(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	store, err := storage.Open(ctx, storage.Config{URL: st.url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	const edges = 100
	api := newAPI(ctx, store, inbox.Caller{UserID: deepUser})
	isArchived := false
	var values []float64
	for range b.rounds {
		all, err := allocations(func() error {
			_, err := askAPI(ctx, api, edges)
			return err
		})
		if err != nil {
			return err
		}
		reading, err := allocations(func() error {
			var batch storage.Batch
			batch.UnreadCounts([]string{deepUser})
			batch.FeedPages([]string{deepUser}, inbox.Page{Size: edges, WithoutData: true}, inbox.Filter{Archived: &isArchived})
			return store.Send(ctx, &batch)
		})
		if err != nil {
			return err
		}
		making, err := allocations(func() error {
			newAsk(ctx, edges)
			return nil
		})
		if err != nil {
			return err
		}
		values = append(values, all-reading-making)
	}
	b.measured(fmt.Sprintf("allocations for rendering a page of %d edges, from the request's body to the answer", edges),
		"%.0f", values, atMost(250), "")
	return nil
}

// allocations returns how many allocations one call makes.
func allocations(call func() error) (float64, error) {
	const calls = 100
	var before, after runtime.MemStats
	for n := range 2 * calls {
		if n == calls { // what comes before fills caches and pools
			runtime.ReadMemStats(&before)
		}
		if err := call(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls, nil
}

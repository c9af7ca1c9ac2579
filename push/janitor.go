package push

import (
	"context"
	"errors"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// tidy fails what was lost and what waits for a provider that nobody serves, and drops what nobody has
// planned. What is settled and old goes by package retention.
func (w *Worker) tidy(ctx context.Context) {
	store := w.cfg.Store
	w.repeat(ctx, janitorInterval, nil, "tidy pushes", func() (bool, error) {
		stale := time.Now().Add(-w.cfg.QueueFor)
		lost, err := store.FailLostSends(ctx, "lease expired")
		if lost > 0 {
			w.cfg.Logger.Warn("pushes lost while being sent", "deliveries", lost)
		}
		dropped, dropErr := store.DropPushes(ctx, stale)
		expired, expireErr := 0, error(nil)
		for _, provider := range []inbox.Provider{inbox.ProviderExpo, inbox.ProviderWebPush} {
			n, err := store.ExpireDeliveries(ctx, provider, stale, "expired")
			expired, expireErr = max(expired, n), errors.Join(expireErr, err)
		}
		if dropped+expired > 0 {
			w.cfg.Logger.Warn("pushes that nobody has sent", "unplanned", dropped, "unsent", expired)
		}
		isMore := dropped == storage.DropBatch || lost == storage.LostBatch || expired == storage.LostBatch
		return isMore, errors.Join(err, dropErr, expireErr)
	})
}

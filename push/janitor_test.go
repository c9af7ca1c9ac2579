package push_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/push"
	"belfry/storage/storagetest"
)

// Where no provider is configured, or not that of a device, nothing waits for ever.
func TestWhatNobodySendsGoes(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	for i, token := range []string{"ExponentPushToken[a]", "ExponentPushToken[b]"} {
		if _, ok, err := store.RegisterDevice(t.Context(), "ada", inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: token}); err != nil || !ok {
			t.Fatal(i, err)
		}
	}
	dispatch := func(run string) inbox.Cursor {
		results, err := store.Dispatch(t.Context(), &inbox.Event{RunID: &run, Kind: "k", Category: "c", Title: "t", Recipients: []string{"ada"}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0].Position
	}
	planned := dispatch("planned")
	queued, err := store.ClaimPushes(t.Context(), time.Minute)
	if err != nil || len(queued) != 1 {
		t.Fatal(queued, err)
	}
	if _, err := store.PlanPushes(t.Context(), []int64{queued[0].ID}, nil, true); err != nil {
		t.Fatal(err)
	}
	dispatch("unplanned")
	w := push.NewWorker(push.Config{Store: store, QueueFor: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	eventually(t, "all is gone or failed", func() bool {
		lines, err := store.LedgerOfNotification(t.Context(), "ada", planned)
		if err != nil || len(lines) != 2 {
			t.Fatal(lines, err)
		}
		rest, err := store.ClaimPushes(t.Context(), time.Nanosecond)
		if err != nil {
			t.Fatal(err)
		}
		isFailed := true
		for _, l := range lines {
			isFailed = isFailed && l.State == "failed" && l.Error != nil && *l.Error == "expired"
		}
		return len(rest) == 0 && isFailed
	})
}

package storage_test

import (
	"context"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// pushCalls returns calls that send the statements of devices and pushes.
func pushCalls() []func(context.Context, *storage.Store) error {
	const lease = time.Minute
	reports := []storage.Report{{ID: inbox.MaxUUID, Status: inbox.PushFailed, Error: new("code"), Disable: true}}
	return []func(context.Context, *storage.Store) error{
		func(ctx context.Context, s *storage.Store) error {
			_, _, err := s.RegisterDevice(ctx, "light9", inbox.DeviceInput{
				Provider: inbox.ProviderExpo, Token: "ExponentPushToken[plan]", InstallationID: new("installation"),
			})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.UnregisterDevice(ctx, "light9", inbox.MaxUUID)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Devices(ctx, []string{"light1", "light2"})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.ClaimPushes(ctx, lease)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.PlanPushes(ctx, []int64{1, 2, 3}, []int64{2}, true)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.ClaimDeliveries(ctx, inbox.ProviderExpo, lease)
			return err
		},
		func(ctx context.Context, s *storage.Store) error { return s.ReportSends(ctx, reports) },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.ClaimReceipts(ctx, inbox.ProviderExpo, lease)
			return err
		},
		func(ctx context.Context, s *storage.Store) error { return s.ReportReceipts(ctx, reports) },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.DropPushes(ctx, time.Now().Add(-365*24*time.Hour))
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.ExpireDeliveries(ctx, inbox.ProviderExpo, time.Now().Add(-365*24*time.Hour), "expired")
			return err
		},
		func(ctx context.Context, s *storage.Store) error { _, err := s.FailLostSends(ctx, "lost"); return err },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.LedgerOfUser(ctx, "light1", 50)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.LedgerByID(ctx, inbox.MaxUUID)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.LedgerOfNotification(ctx, "light1", inbox.Cursor{CreatedAt: moment})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			return s.Ledger(ctx, []*inbox.Notification{{UserID: "light1", CreatedAt: moment, ID: inbox.MaxUUID}})
		},
	}
}

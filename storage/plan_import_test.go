package storage_test

import (
	"context"

	"belfry/inbox"
	"belfry/storage"
)

// importCalls returns calls that send the statements of exports and imports.
func importCalls() []func(context.Context, *storage.Store) error {
	return []func(context.Context, *storage.Store) error{
		func(ctx context.Context, s *storage.Store) error {
			return s.Export(ctx, "light1", func(inbox.Record) error { return nil })
		},
		func(ctx context.Context, s *storage.Store) error {
			// What follows on a batch that was there already is merged, not copied.
			importer := s.NewImporter()
			old, other := oneOfEach("light11"), oneOfEach("import1")
			for _, records := range [][]inbox.Record{old, old, other, old, oneOfEach("import2")[len(old)-1:]} {
				if _, err := importer.Import(ctx, records); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// oneOfEach returns a new record of every kind.
func oneOfEach(user string) []inbox.Record {
	notification := history(user, "run")
	activity := &inbox.ActivityRecord{ActivityInput: inbox.ActivityInput{UserID: user, Verb: "v", OccurredAt: &moment}}
	activity.Place(moment)
	item := &inbox.ItemRecord{ItemInput: inbox.ItemInput{UserID: user, ItemID: "i", Title: "t", Tags: []string{"a"}}}
	item.Place(moment)
	return []inbox.Record{
		&inbox.AccountRecord{AccountInput: inbox.AccountInput{UserID: user, DisplayName: "name"}},
		&inbox.SettingsRecord{UserID: user, Preferences: []inbox.Preference{{Category: "c", Channel: inbox.ChannelPush}}},
		&inbox.SeenRecord{UserID: user, Through: inbox.Cursor{CreatedAt: moment}, Horizon: numbered(1)},
		&inbox.DeviceRecord{Device: inbox.Device{
			UserID: user, ID: numbered(1), Provider: inbox.ProviderExpo, Token: "ExponentPushToken[" + user + "]",
			CreatedAt: moment, LastSeenAt: moment,
		}},
		&inbox.DeliveryRecord{
			UserID: user, Notification: notification.Position, DeviceID: numbered(1), ID: notification.Position.ID,
			Provider: inbox.ProviderExpo, Status: inbox.PushDelivered, CreatedAt: moment, SentAt: &moment, SettledAt: &moment,
		},
		&inbox.ClaimRecord{UserID: user, Claim: inbox.Claim{Key: "notification:gone", CreatedAt: moment}},
		notification, activity, item,
	}
}

// history returns a notification of an existing system, ready to be written.
func history(user, run string) *inbox.NotificationRecord {
	n := &inbox.NotificationRecord{UserID: user, Event: *eventAt(run, moment, user)}
	n.Place(moment)
	return n
}

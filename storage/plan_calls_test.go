package storage_test

import (
	"context"
	"slices"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// hotCalls returns calls that must not depend on how much a user has.
func hotCalls() []func(context.Context, *storage.Store) error {
	users := []string{"light1"}
	position := mixedCrowd.position(1)
	return []func(context.Context, *storage.Store) error{
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.FeedPages(ctx, users, inbox.Page{Size: 20, After: position, Both: true}, inbox.Filter{})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := activityPages(ctx, s, users, inbox.Page{Size: 20, After: position, Both: true})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := itemPages(ctx, s, users, inbox.Page{Size: 20, After: position, Both: true}, nil)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := itemPages(ctx, s, users, inbox.Page{Size: 20, After: position, Both: true}, new("tag"))
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.PutItem(ctx, tagged("hot", "a b c"))
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := storage.Ask(ctx, s, users, (*storage.Batch).UnreadCounts)
			return err
		},
		func(ctx context.Context, s *storage.Store) error { _, err := s.Badges(ctx, users); return err },
		func(ctx context.Context, s *storage.Store) error { return s.MarkSeen(ctx, "light8", nil) },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.MarkAllRead(ctx, "light8", nil, nil)
			return err
		},
	}
}

// calls returns calls that, with the pages of one user, send every statement of which a test can be sure.
func calls() []func(context.Context, *storage.Store) error {
	users := []string{"light1", "light2"}
	at := []inbox.Cursor{*unreadCrowd.position(1), *unreadCrowd.position(3)}
	return append(slices.Concat(pushCalls(), listCalls(), importCalls(), []func(context.Context, *storage.Store) error{
		sweepAll, eraseStepwise,
	}), []func(context.Context, *storage.Store) error{
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.FeedPages(ctx, users, inbox.Page{Size: 20, After: &at[1], Both: true}, inbox.Filter{})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := storage.Ask(ctx, s, users, (*storage.Batch).UnreadCounts)
			return err
		},
		func(ctx context.Context, s *storage.Store) error { _, err := s.Badges(ctx, users); return err },
		func(ctx context.Context, s *storage.Store) error { return s.MarkSeen(ctx, "light3", nil) },
		func(ctx context.Context, s *storage.Store) error { return s.MarkSeen(ctx, "light3", &at[1]) },
		func(ctx context.Context, s *storage.Store) error { _, err := s.MarkRead(ctx, "unread", at); return err },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.MarkUnread(ctx, "unread", at)
			return err
		},
		func(ctx context.Context, s *storage.Store) error { _, err := s.Archive(ctx, "unread", at); return err },
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Unarchive(ctx, "unread", at)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.DeleteNotifications(ctx, "unread", at)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.MarkAllRead(ctx, "light4", nil, nil)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Notifications(ctx, []inbox.NodeID{{Kind: inbox.KindNotification, UserID: "unread", Position: at[1]}})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Dispatch(ctx, event("run", "light5", "light6"))
			return err
		},
		func(ctx context.Context, s *storage.Store) error { _, err := s.Accounts(ctx, users); return err },
		func(ctx context.Context, s *storage.Store) error { _, err := s.Settings(ctx, users); return err },
		func(ctx context.Context, s *storage.Store) error {
			_, err := storage.Ask(ctx, s, users, func(b *storage.Batch, users []string) map[string]storage.Profile { return b.Profiles(users, false) })
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := storage.Ask(ctx, s, users, (*storage.Batch).Preferences)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			return s.PutAccount(ctx, inbox.AccountInput{UserID: "light7", DisplayName: "name"})
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.UpdateSettings(ctx, "light7", inbox.SettingsChange{})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, _, err := s.SetPreference(ctx, "light7", inbox.Preference{Category: "c", Channel: inbox.ChannelPush})
			return err
		},
	}...)
}

// listCalls returns calls that send the statements of activities and items, but for their pages.
func listCalls() []func(context.Context, *storage.Store) error {
	return []func(context.Context, *storage.Store) error{
		func(ctx context.Context, s *storage.Store) error {
			_, _, err := s.RecordActivity(ctx, keyed("plan", "verb"), time.Hour)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Activities(ctx, []inbox.NodeID{{Kind: inbox.KindActivity, UserID: listCrowd.userID, Position: *listCrowd.position(1)}})
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			in := tagged("plan", "a b c")
			in.UserID = listCrowd.userID
			_, err := s.PutItem(ctx, in)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.DeleteItem(ctx, listCrowd.userID, listCrowd.position(1).ID)
			return err
		},
		func(ctx context.Context, s *storage.Store) error {
			_, err := s.Items(ctx, []inbox.NodeID{{Kind: inbox.KindItem, UserID: listCrowd.userID, Position: *listCrowd.position(1)}})
			return err
		},
	}
}

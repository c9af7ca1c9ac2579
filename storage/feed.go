package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// A feed statement reads from four lists that are disjoint and ordered alike, and of which a filter
// switches some on: unread ($7), read ($8), archived unread ($9), archived read ($10). Postgres merges their
// index ranges and stops at the limit, so that the cost of a page depends neither on its depth nor on what
// the filter leaves out; only categories ($11) are filtered row by row.
//
// $2 to $5 are the ends of the range, $6 is the limit. The inner limits are one more than the largest
// page: a constant tells the planner, which does not know $6, that few rows are wanted. A list's own
// conditions follow from its place in the index; they are there to let the planner use a partial one.
const (
	feedColumns = `n.user_id, n.created_at, n.id, n.kind, n.category, n.actor_id, n.title, n.body, n.url, n.data,
    n.read_at, n.archived_at`
	feedBranch = `
    (SELECT ` + feedColumns + ` FROM notifications n WHERE `
	feedDone = `
      AND (CASE WHEN n.archived_at IS NULL THEN 0 WHEN n.read_at IS NULL THEN 1 ELSE 2 END) = `
	feedUnread         = ` AND n.read_at IS NULL AND n.archived_at IS NULL`
	feedRead           = ` AND n.read_at IS NOT NULL AND n.archived_at IS NULL` + feedDone + `0`
	feedArchivedUnread = ` AND n.read_at IS NULL AND n.archived_at IS NOT NULL` + feedDone + `1`
	feedArchivedRead   = ` AND n.read_at IS NOT NULL AND n.archived_at IS NOT NULL` + feedDone + `2`
	feedRange          = `
      AND (n.created_at, n.id) < ($2::timestamptz, $3::uuid)
      AND (n.created_at, n.id) > ($4::timestamptz, $5::uuid)
      AND ($11::text[] IS NULL OR n.category = ANY ($11))`
	feedOlder = feedRange + `
     ORDER BY n.created_at DESC, n.id DESC LIMIT 101)`
	feedNewer = feedRange + `
     ORDER BY n.created_at, n.id LIMIT 101)`

	ofOne  = ` AND n.user_id = $1`
	ofEach = ` AND n.user_id = u.user_id`

	feedOlderOfOne = feedBranch + `$7` + ofOne + feedUnread + feedOlder + ` UNION ALL` +
		feedBranch + `$8` + ofOne + feedRead + feedOlder + ` UNION ALL` +
		feedBranch + `$9` + ofOne + feedArchivedUnread + feedOlder + ` UNION ALL` +
		feedBranch + `$10` + ofOne + feedArchivedRead + feedOlder
	feedNewerOfOne = feedBranch + `$7` + ofOne + feedUnread + feedNewer + ` UNION ALL` +
		feedBranch + `$8` + ofOne + feedRead + feedNewer + ` UNION ALL` +
		feedBranch + `$9` + ofOne + feedArchivedUnread + feedNewer + ` UNION ALL` +
		feedBranch + `$10` + ofOne + feedArchivedRead + feedNewer
	feedOlderOfEach = feedBranch + `$7` + ofEach + feedUnread + feedOlder + ` UNION ALL` +
		feedBranch + `$8` + ofEach + feedRead + feedOlder + ` UNION ALL` +
		feedBranch + `$9` + ofEach + feedArchivedUnread + feedOlder + ` UNION ALL` +
		feedBranch + `$10` + ofEach + feedArchivedRead + feedOlder
	feedNewerOfEach = feedBranch + `$7` + ofEach + feedUnread + feedNewer + ` UNION ALL` +
		feedBranch + `$8` + ofEach + feedRead + feedNewer + ` UNION ALL` +
		feedBranch + `$9` + ofEach + feedArchivedUnread + feedNewer + ` UNION ALL` +
		feedBranch + `$10` + ofEach + feedArchivedRead + feedNewer
)

const feedPageSQL = `-- name: FeedPage
SELECT * FROM (` + feedOlderOfOne + `
) f ORDER BY created_at DESC, id DESC LIMIT $6`

const feedPageBackwardSQL = `-- name: FeedPageBackward
SELECT * FROM (` + feedNewerOfOne + `
) f ORDER BY created_at, id LIMIT $6`

const feedPagesSQL = `-- name: FeedPages
SELECT f.* FROM unnest($1::text[]) WITH ORDINALITY AS u (user_id, ord) CROSS JOIN LATERAL (
  SELECT * FROM (` + feedOlderOfEach + `
  ) l ORDER BY created_at DESC, id DESC LIMIT $6
) f ORDER BY u.ord, f.created_at DESC, f.id DESC`

const feedPagesBackwardSQL = `-- name: FeedPagesBackward
SELECT f.* FROM unnest($1::text[]) WITH ORDINALITY AS u (user_id, ord) CROSS JOIN LATERAL (
  SELECT * FROM (` + feedNewerOfEach + `
  ) l ORDER BY created_at, id LIMIT $6
) f ORDER BY u.ord, f.created_at, f.id`

// FeedPages reads the same page of each of several distinct users' notifications. It costs one statement
// however many there are, and a second one where page.Both asks for the flag of the far side.
func (s *Store) FeedPages(
	ctx context.Context, userIDs []string, page inbox.Page, filter inbox.Filter,
) (map[string]Page[inbox.Notification], error) {
	return Ask(ctx, s, userIDs, func(b *Batch, users []string) map[string]Page[inbox.Notification] {
		return b.FeedPages(users, page, filter)
	})
}

// FeedPages adds a read of the same page of each user's notifications: see Store.FeedPages.
func (b *Batch) FeedPages(userIDs []string, page inbox.Page, filter inbox.Filter) map[string]Page[inbox.Notification] {
	return pages(b, userIDs, page, list[inbox.Notification]{
		name:      "feed page",
		statement: func(s span) (string, []any) { return feedStatement(userIDs, s, filter) },
		scan:      scanNotifications,
		owner:     func(n *inbox.Notification) string { return n.UserID },
	})
}

// feedStatement returns what reads the span of each user's feed.
func feedStatement(userIDs []string, s span, filter inbox.Filter) (string, []any) {
	newerAt, newerID, olderAt, olderID := s.bounds()
	l := listsOf(filter)
	var users any = userIDs
	sql := feedPagesSQL
	switch {
	case len(userIDs) == 1 && s.backward:
		users, sql = userIDs[0], feedPageBackwardSQL
	case len(userIDs) == 1:
		users, sql = userIDs[0], feedPageSQL
	case s.backward:
		sql = feedPagesBackwardSQL
	}
	return sql, []any{
		users, newerAt, newerID, olderAt, olderID, s.limit,
		l.unread, l.read, l.archivedUnread, l.archivedRead, filter.Categories,
	}
}

// lists says which of the four lists are wanted.
type lists struct {
	unread, read, archivedUnread, archivedRead bool
}

func listsOf(f inbox.Filter) lists {
	isWanted := func(isArchived bool, status inbox.Status) bool {
		return (f.Archived == nil || *f.Archived == isArchived) && (f.Status == nil || *f.Status == status)
	}
	return lists{
		unread: isWanted(false, inbox.StatusUnread), read: isWanted(false, inbox.StatusRead),
		archivedUnread: isWanted(true, inbox.StatusUnread), archivedRead: isWanted(true, inbox.StatusRead),
	}
}

// scanNotifications reads rows of feedColumns and closes them.
func scanNotifications(rows pgx.Rows, add func(*inbox.Notification)) error {
	var n inbox.Notification
	var actorID *string
	targets := []any{
		&n.UserID, &n.CreatedAt, (*[16]byte)(&n.ID), &n.Kind, &n.Category, &actorID,
		&n.Title, &n.Body, &n.URL, &n.Data, &n.ReadAt, &n.ArchivedAt,
	}
	_, err := pgx.ForEachRow(rows, targets, func() error {
		row := n
		if actorID != nil {
			row.Actor = inbox.NewActor(*actorID, nil)
		}
		add(&row)
		return nil
	})
	return err
}

const notificationsByKeySQL = `-- name: NotificationsByKey
SELECT ` + feedColumns + `
FROM unnest($1::text[], $2::timestamptz[], $3::uuid[]) AS k (user_id, created_at, id)
JOIN notifications n ON n.user_id = k.user_id AND n.created_at = k.created_at AND n.id = k.id`

// Notifications returns the notifications that exist among the ids, by opaque id. Ids of other kinds
// are passed over.
func (s *Store) Notifications(ctx context.Context, ids []inbox.NodeID) (map[string]*inbox.Notification, error) {
	var users []string
	var cursors []inbox.Cursor
	for _, n := range ids {
		if n.Kind == inbox.KindNotification {
			users, cursors = append(users, n.UserID), append(cursors, n.Position)
		}
	}
	times, uuids := keys(cursors)
	rows, err := s.pool.Query(ctx, notificationsByKeySQL, users, times, uuids)
	if err != nil {
		return nil, fault("notifications by key", err)
	}
	found := make(map[string]*inbox.Notification, len(ids))
	err = scanNotifications(rows, func(n *inbox.Notification) { found[n.NodeID()] = n })
	return found, fault("notifications by key", err)
}

package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// A feed statement reads from four lists that are disjoint and ordered alike, and of which a filter
// switches some on: unread ($7), read ($8), archived unread ($9), archived read ($10). Postgres merges their
// index ranges and stops at the limit, so that the cost of a page depends neither on its depth nor on what
// the filter leaves out; only categories ($11) are filtered row by row. A list's own conditions follow from
// its place in the index; they are there to let the planner use a partial one.
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
	feedSpan           = inSpan + `
      AND ($11::text[] IS NULL OR n.category = ANY ($11))`
	feedOlder = feedSpan + toOlder
	feedNewer = feedSpan + toNewer

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

// feedRow is feedColumns of a page: what may be long only where it is wanted ($12, $13).
const feedRow = ` f.user_id, f.created_at, f.id, f.kind, f.category, f.actor_id, f.title,
  CASE WHEN $12::boolean THEN f.body END, f.url, CASE WHEN $13::boolean THEN f.data END, f.read_at, f.archived_at`

const feedPageSQL = `-- name: FeedPage
SELECT` + feedRow + pageOfOne + feedOlderOfOne + olderOne

const feedPageBackwardSQL = `-- name: FeedPageBackward
SELECT` + feedRow + pageOfOne + feedNewerOfOne + newerOne

const feedPagesSQL = `-- name: FeedPages
SELECT` + feedRow + pagesOfEach + feedOlderOfEach + olderEach

const feedPagesBackwardSQL = `-- name: FeedPagesBackward
SELECT` + feedRow + pagesOfEach + feedNewerOfEach + newerEach

var feedList = &list[inbox.Notification]{
	name:  "feed page",
	ofOne: feedPageSQL, ofOneBackward: feedPageBackwardSQL,
	ofEach: feedPagesSQL, ofEachBackward: feedPagesBackwardSQL,
	scan:  scanNotifications,
	owner: func(n *inbox.Notification) string { return n.UserID },
}

// FeedPages adds a read of the same page of each user's notifications.
func (b *Batch) FeedPages(userIDs []string, page inbox.Page, filter inbox.Filter) map[string]Page[inbox.Notification] {
	return feedList.pages(b, userIDs, page, feedArguments(page, filter)...)
}

// FeedPages reads the same page of each of several distinct users' notifications.
func (s *Store) FeedPages(
	ctx context.Context, userIDs []string, page inbox.Page, filter inbox.Filter,
) (map[string]Page[inbox.Notification], error) {
	return Ask(ctx, s, userIDs, func(b *Batch, users []string) map[string]Page[inbox.Notification] {
		return b.FeedPages(users, page, filter)
	})
}

// feedArguments returns the feed's own parameters, $7 to $13.
func feedArguments(p inbox.Page, f inbox.Filter) []any {
	isWanted := func(isArchived bool, status inbox.Status) bool {
		return (f.Archived == nil || *f.Archived == isArchived) && (f.Status == nil || *f.Status == status)
	}
	return []any{
		isWanted(false, inbox.StatusUnread), isWanted(false, inbox.StatusRead),
		isWanted(true, inbox.StatusUnread), isWanted(true, inbox.StatusRead), f.Categories,
		!p.WithoutBody, !p.WithoutData,
	}
}

// scanNotifications reads rows of feedColumns and closes them.
func scanNotifications(rows pgx.Rows, add func(*inbox.Notification)) error {
	var n inbox.Notification
	var userID, kind, category repeated
	var row texts
	actorID, title, body, url := textColumn{row: &row}, textColumn{row: &row}, textColumn{row: &row}, textColumn{row: &row}
	targets := []any{
		&userID, &n.CreatedAt, (*[16]byte)(&n.ID), &kind, &category, &actorID,
		&title, &body, &url, &n.Data, &n.ReadAt, &n.ArchivedAt,
	}
	var made slab[inbox.Notification]
	var optional slab[string]
	_, err := pgx.ForEachRow(rows, targets, func() error {
		found, all := made.row(), row.take()
		*found = n
		found.UserID, found.Kind, found.Category = string(userID), string(kind), string(category)
		found.Title, found.Body, found.URL = title.text(all), body.optional(all, &optional), url.optional(all, &optional)
		if !actorID.isNull {
			found.Actor = inbox.NewActor(actorID.text(all), nil)
		}
		add(found)
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
	users, cursors := positionsOf(ids, inbox.KindNotification)
	times, uuids := keys(cursors)
	rows, err := s.pool.Query(ctx, notificationsByKeySQL, users, times, uuids)
	if err != nil {
		return nil, fault("notifications by key", err)
	}
	found, err := byNodeID(rows, scanNotifications)
	return found, fault("notifications by key", err)
}

package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

const (
	itemFields  = `i.item_id, i.title, i.url, i.data, i.tags`
	itemColumns = `i.user_id, i.created_at, i.id, ` + itemFields
	itemBranch  = `
    (SELECT ` + itemColumns + ` FROM items i WHERE true`

	// A page by tag is one range of item_tags' key ($7 is the tag), and a look-up for each row of the page. The
	// limit of the look-up keeps the planner from reading all of a user's items instead. The order is the
	// tag's, which the planner knows.
	taggedBranch = `
    (SELECT t.user_id, t.created_at, t.id, ` + itemFields + ` FROM (SELECT user_id, created_at, id FROM item_tags
     WHERE tag = $7::text`
	taggedItems = ` t CROSS JOIN LATERAL (
      SELECT ` + itemFields + ` FROM items i WHERE i.user_id = t.user_id AND i.id = t.id LIMIT 1) i)`
)

const itemPageSQL = `-- name: ItemPage
SELECT *` + pageOfOne + itemBranch + ofOne + inSpan + toOlder + olderOne

const itemPageBackwardSQL = `-- name: ItemPageBackward
SELECT *` + pageOfOne + itemBranch + ofOne + inSpan + toNewer + newerOne

const itemPagesSQL = `-- name: ItemPages
SELECT f.*` + pagesOfEach + itemBranch + ofEach + inSpan + toOlder + olderEach

const itemPagesBackwardSQL = `-- name: ItemPagesBackward
SELECT f.*` + pagesOfEach + itemBranch + ofEach + inSpan + toNewer + newerEach

const taggedItemPageSQL = `-- name: TaggedItemPage
SELECT *` + pageOfOne + taggedBranch + ofOne + inSpan + toOlder + taggedItems + olderOne

const taggedItemPageBackwardSQL = `-- name: TaggedItemPageBackward
SELECT *` + pageOfOne + taggedBranch + ofOne + inSpan + toNewer + taggedItems + newerOne

const taggedItemPagesSQL = `-- name: TaggedItemPages
SELECT f.*` + pagesOfEach + taggedBranch + ofEach + inSpan + toOlder + taggedItems + olderEach

const taggedItemPagesBackwardSQL = `-- name: TaggedItemPagesBackward
SELECT f.*` + pagesOfEach + taggedBranch + ofEach + inSpan + toNewer + taggedItems + newerEach

var itemList = &list[inbox.Item]{
	name:  "item page",
	ofOne: itemPageSQL, ofOneBackward: itemPageBackwardSQL,
	ofEach: itemPagesSQL, ofEachBackward: itemPagesBackwardSQL,
	scan: scanItems, owner: ownerOfItem,
}

var taggedItemList = &list[inbox.Item]{
	name:  "tagged item page",
	ofOne: taggedItemPageSQL, ofOneBackward: taggedItemPageBackwardSQL,
	ofEach: taggedItemPagesSQL, ofEachBackward: taggedItemPagesBackwardSQL,
	scan: scanItems, owner: ownerOfItem,
}

func ownerOfItem(i *inbox.Item) string { return i.UserID }

// ItemPages adds a read of the same page of each user's items: of all of them where tag is nil, else of those
// that carry it.
func (b *Batch) ItemPages(userIDs []string, page inbox.Page, tag *string) map[string]Page[inbox.Item] {
	if tag == nil {
		return itemList.pages(b, userIDs, page)
	}
	return taggedItemList.pages(b, userIDs, page, *tag)
}

const itemsByKeySQL = `-- name: ItemsByKey
SELECT ` + itemColumns + `
FROM unnest($1::text[], $2::uuid[]) AS k (user_id, id)
JOIN items i ON i.user_id = k.user_id AND i.id = k.id`

// Items returns the items that exist among the ids, by opaque id. Ids of other kinds are passed over.
func (s *Store) Items(ctx context.Context, ids []inbox.NodeID) (map[string]*inbox.Item, error) {
	users, cursors := positionsOf(ids, inbox.KindItem)
	_, uuids := keys(cursors)
	rows, err := s.pool.Query(ctx, itemsByKeySQL, users, uuids)
	if err != nil {
		return nil, fault("items by key", err)
	}
	found, err := byNodeID(rows, scanItems)
	return found, fault("items by key", err)
}

// scanItems reads rows of itemColumns and closes them.
func scanItems(rows pgx.Rows, add func(*inbox.Item)) error {
	var i inbox.Item
	targets := []any{&i.UserID, &i.CreatedAt, (*[16]byte)(&i.ID), &i.ItemID, &i.Title, &i.URL, &i.Data, &i.Tags}
	_, err := pgx.ForEachRow(rows, targets, func() error {
		row := i
		add(&row)
		i.Tags = nil // or the next row's would be written over them
		return nil
	})
	return err
}

// One change of a user's items at a time. Its tag rows are found by the item as it was, and what a statement
// that waits for an item's row then sees of its tag rows is older than the item: so they would be left
// behind. An item that is not there yet has no row to wait for either. It is a statement of its own, since
// what follows has to see what was there when the lock was got.
const lockItemsSQL = `-- name: LockItems
SELECT pg_advisory_xact_lock(hashtext('items'), hashtext($1))`

// The key of a tag row. Not $1 and $2: with them the planner takes the range of all of the user's tag rows for
// short, and filters it.
const tagRow = `t.user_id = o.user_id AND t.tag = o.tag AND t.created_at = o.created_at AND t.id = o.id`

// Tag rows that stay are left alone: an item that is put again with the tags it has writes one row. So the
// rows removed and the rows added are never the same ones, and the order in which that happens is no matter.
const putItemSQL = `-- name: PutItem
WITH was AS MATERIALIZED (
  SELECT user_id, tags, created_at, id FROM items WHERE user_id = $1 AND id = $2
), becomes AS MATERIALIZED (
  SELECT coalesce($8::timestamptz, (SELECT created_at FROM was), clock_timestamp()) AS created_at
), removed AS (
  DELETE FROM item_tags t USING (SELECT user_id, unnest(tags) AS tag, created_at, id FROM was) o, becomes
  WHERE ` + tagRow + `
    AND NOT (o.tag = ANY ($7::text[]) AND o.created_at = becomes.created_at)
), added AS (
  INSERT INTO item_tags (user_id, tag, created_at, id)
  SELECT $1, tag, created_at, $2 FROM becomes, unnest($7) AS n (tag)
  ON CONFLICT DO NOTHING
)
INSERT INTO items AS i (user_id, id, item_id, title, url, data, tags, created_at)
SELECT $1, $2, $3, $4, $5, $6::json, $7, created_at FROM becomes
ON CONFLICT (user_id, id) DO UPDATE SET
  title = excluded.title, url = excluded.url, data = excluded.data, tags = excluded.tags, created_at = excluded.created_at
RETURNING ` + itemColumns

// PutItem creates or replaces an item and its tags. The input must have passed its Check.
func (s *Store) PutItem(ctx context.Context, in *inbox.ItemInput) (*inbox.Item, error) {
	list, err := s.changeItem(ctx, putItemSQL, in.UserID, id(inbox.ItemUUID(in.ItemID)), in.ItemID, in.Title, in.URL,
		[]byte(in.Data), in.DistinctTags(), in.CreatedAt)
	if err != nil {
		return nil, fault("put item", err)
	}
	return list[0], nil
}

const deleteItemSQL = `-- name: DeleteItem
WITH gone AS (
  DELETE FROM items i WHERE i.user_id = $1 AND i.id = $2
  RETURNING ` + itemColumns + `
), removed AS (
  DELETE FROM item_tags t USING (SELECT user_id, unnest(tags) AS tag, created_at, id FROM gone) o
  WHERE ` + tagRow + `
)
SELECT i.* FROM gone i`

// DeleteItem removes an item of the user with its tags and reports whether there was one.
func (s *Store) DeleteItem(ctx context.Context, userID string, itemID inbox.UUID) (bool, error) {
	list, err := s.changeItem(ctx, deleteItemSQL, userID, id(itemID))
	return len(list) > 0, fault("delete item", err)
}

// changeItem runs a statement on one of a user's items under the lock of all of them.
func (s *Store) changeItem(ctx context.Context, sql, userID string, more ...any) (list []*inbox.Item, err error) {
	err = s.change(ctx, lockItemsSQL, func(rows pgx.Rows) error {
		return scanItems(rows, func(i *inbox.Item) { list = append(list, i) })
	}, sql, userID, more...)
	return list, err
}

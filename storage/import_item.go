package storage

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

const lockItemsOfSQL = `-- name: LockItemsOf
SELECT pg_advisory_xact_lock(hashtext('items'), hashtext(u.user_id)) FROM unnest($1::text[]) AS u (user_id)`

// lockItems lets nobody else change the items of these users; see lockItemsSQL.
func (b *importBatch) lockItems(ctx context.Context, tx pgx.Tx) error {
	users := column(b.items, func(i entry[*inbox.ItemRecord]) string { return i.record.UserID })
	_, err := tx.Exec(ctx, lockItemsOfSQL, slices.Compact(users))
	return err
}

func (b *importBatch) copyItems(ctx context.Context, tx pgx.Tx) error {
	if len(b.items) == 0 {
		return nil
	}
	if err := b.lockItems(ctx, tx); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "items", b.items, func(i entry[*inbox.ItemRecord], row []any) []any {
		r := i.record
		return append(row, r.UserID, [16]byte(inbox.ItemUUID(r.ItemID)), r.ItemID, r.Title, r.URL, jsonValue(r.Data),
			r.DistinctTags(), *r.CreatedAt)
	}, "user_id", "id", "item_id", "title", "url", "data", "tags", "created_at"); err != nil {
		return err
	}
	return copyRows(ctx, tx, "item_tags", itemTags(b.items), func(t itemTag, row []any) []any {
		return append(row, t.userID, t.tag, t.at.CreatedAt, [16]byte(t.at.ID))
	}, "user_id", "tag", "created_at", "id")
}

// itemTag is a row of item_tags.
type itemTag struct {
	userID, tag string
	at          inbox.Cursor
}

func itemTags(items []entry[*inbox.ItemRecord]) []itemTag {
	var tags []itemTag
	for _, i := range items {
		r := i.record
		at := inbox.Cursor{CreatedAt: *r.CreatedAt, ID: inbox.ItemUUID(r.ItemID)}
		for _, tag := range r.DistinctTags() {
			tags = append(tags, itemTag{r.UserID, tag, at})
		}
	}
	return tags
}

// Tags come as JSON: an array of arrays can't be unnested by one level.
const importItemsSQL = `-- name: ImportItems
INSERT INTO items (user_id, id, item_id, title, url, data, tags, created_at)
SELECT i.user_id, i.id, i.item_id, i.title, i.url, i.data::json, ARRAY(SELECT json_array_elements_text(i.tags::json)), i.created_at
FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
  AS i (user_id, id, item_id, title, url, data, tags, created_at)
ON CONFLICT DO NOTHING
RETURNING user_id, id`

const importItemTagsSQL = `-- name: ImportItemTags
INSERT INTO item_tags (user_id, tag, created_at, id)
SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::uuid[])
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeItems(ctx context.Context, tx pgx.Tx) error {
	if len(b.items) == 0 {
		return nil
	}
	if err := b.lockItems(ctx, tx); err != nil {
		return err
	}
	written, err := insertItems(ctx, tx, b.items)
	if err != nil {
		return err
	}
	b.out.New += len(written)
	tags := itemTags(written)
	if len(tags) == 0 {
		return nil
	}
	_, err = tx.Exec(ctx, importItemTagsSQL,
		column(tags, func(t itemTag) string { return t.userID }),
		column(tags, func(t itemTag) string { return t.tag }),
		column(tags, func(t itemTag) pgtype.Timestamptz { return at(t.at) }),
		column(tags, func(t itemTag) pgtype.UUID { return id(t.at.ID) }))
	return err
}

// insertItems writes the items that are not there, without their tags, and returns them.
func insertItems(ctx context.Context, tx pgx.Tx, items []entry[*inbox.ItemRecord]) (written []entry[*inbox.ItemRecord], err error) {
	type item = entry[*inbox.ItemRecord]
	rows, err := tx.Query(ctx, importItemsSQL,
		column(items, func(i item) string { return i.record.UserID }),
		column(items, func(i item) pgtype.UUID { return id(inbox.ItemUUID(i.record.ItemID)) }),
		column(items, func(i item) string { return i.record.ItemID }),
		column(items, func(i item) string { return i.record.Title }),
		column(items, func(i item) *string { return i.record.URL }),
		column(items, func(i item) *string { return jsonText(i.record.Data) }),
		column(items, func(i item) string { return tagsAsJSON(i.record) }),
		column(items, func(i item) pgtype.Timestamptz { return timestamp(i.record.CreatedAt) }))
	if err != nil {
		return nil, err
	}
	type key struct {
		userID string
		id     inbox.UUID
	}
	isNew := map[key]bool{}
	var k key
	if _, err := pgx.ForEachRow(rows, []any{&k.userID, (*[16]byte)(&k.id)}, func() error { isNew[k] = true; return nil }); err != nil {
		return nil, err
	}
	for _, i := range items {
		if k := (key{i.record.UserID, inbox.ItemUUID(i.record.ItemID)}); isNew[k] {
			delete(isNew, k) // the first with this key was written
			written = append(written, i)
		}
	}
	return written, nil
}

func tagsAsJSON(r *inbox.ItemRecord) string {
	text, _ := json.Marshal(r.DistinctTags()) // texts always encode
	return string(text)
}

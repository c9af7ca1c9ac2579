package storage

import (
	"context"

	"github.com/jackc/pgx/v5"

	"belfry/inbox"
)

// copy writes the batch by COPY straight into the tables, which costs half of what an INSERT that looks for
// conflicts does. It fails with uniqueViolation where anything is there already. Kinds of which a user has few are
// merged all the same.
func (b *importBatch) copy(ctx context.Context, tx pgx.Tx) error {
	b.out = inbox.ImportOutcome{}
	if err := b.mergeFew(ctx, tx); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "claims", b.claims, func(c importedClaim, row []any) []any {
		return append(row, c.userID, c.claim.Key, c.claim.ContentHash[:], c.claim.CreatedAt, c.subject.CreatedAt, [16]byte(c.subject.ID))
	}, "user_id", "key", "content_hash", "created_at", "subject_at", "subject_id"); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "notifications", b.notifications, notificationValues, notificationNames...); err != nil {
		return err
	}
	if err := copyRows(ctx, tx, "activities", b.activities, activityValues, activityNames...); err != nil {
		return err
	}
	if err := b.copyItems(ctx, tx); err != nil {
		return err
	}
	b.out.New += len(b.notifications) + len(b.activities) + len(b.items)
	for _, c := range b.claims {
		if c.isAlone {
			b.out.New++
		}
	}
	return nil
}

var notificationNames = []string{
	"user_id", "created_at", "id", "kind", "category", "actor_id", "title", "body", "url", "data", "read_at", "archived_at",
}

func notificationValues(n entry[*inbox.NotificationRecord], row []any) []any {
	r := n.record
	return append(row, r.UserID, r.Position.CreatedAt, [16]byte(r.Position.ID), r.Event.Kind, r.Event.Category,
		r.Event.ActorID, r.Event.Title, r.Event.Body, r.Event.URL, jsonValue(r.Event.Data), r.ReadAt, r.ArchivedAt)
}

var activityNames = []string{"user_id", "created_at", "id", "verb", "object", "url", "data", "expires_at"}

func activityValues(a entry[*inbox.ActivityRecord], row []any) []any {
	r := a.record
	return append(row, r.UserID, r.Position.CreatedAt, [16]byte(r.Position.ID), r.Verb, r.Object, r.URL, jsonValue(r.Data), r.ExpiresAt)
}

// jsonValue returns JSON for a column, null for none.
func jsonValue(data []byte) any {
	if data == nil {
		return nil
	}
	return data
}

// copyRows writes a list into columns of a table. values appends the values of an element to a row.
func copyRows[T any](
	ctx context.Context, tx pgx.Tx, table string, list []T, values func(T, []any) []any, columns ...string,
) error {
	if len(list) == 0 {
		return nil
	}
	row := make([]any, 0, len(columns)) // pgx is done with a row when it asks for the next
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
		return values(list[i], row), nil
	}))
	return err
}

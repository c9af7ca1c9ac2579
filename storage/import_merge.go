package storage

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

// merge writes what is not there yet.
func (b *importBatch) merge(ctx context.Context, tx pgx.Tx) error {
	b.out = inbox.ImportOutcome{}
	if err := b.mergeFew(ctx, tx); err != nil {
		return err
	}
	claims, err := mergeClaims(ctx, tx, b.claims)
	if err != nil {
		return err
	}
	b.countAlone(claims)
	if err := b.mergeNotifications(ctx, tx, claims); err != nil {
		return err
	}
	if err := b.mergeActivities(ctx, tx, claims); err != nil {
		return err
	}
	return b.mergeItems(ctx, tx)
}

// importedClaim is a claim to be made.
type importedClaim struct {
	index   int
	userID  string
	claim   *inbox.Claim
	subject inbox.Cursor
	// isAlone tells the record of a claim from one that comes with its subject.
	isAlone bool
}

// claimOf returns the claim of a record that has one.
func claimOf(e entry[inbox.Record]) (importedClaim, bool) {
	switch r := e.record.(type) {
	case *inbox.NotificationRecord:
		return importedClaim{e.index, r.UserID, r.Claim, r.Position, false}, r.Claim != nil
	case *inbox.ActivityRecord:
		return importedClaim{e.index, r.UserID, r.Claim, r.Position, false}, r.Claim != nil
	case *inbox.ClaimRecord:
		return importedClaim{e.index, r.UserID, &r.Claim, r.Subject, true}, true
	}
	return importedClaim{}, false
}

// standing is a claim that was there before.
type standing struct {
	hash    []byte
	subject inbox.Cursor
}

const importClaimsSQL = `-- name: ImportClaims
INSERT INTO claims (user_id, key, content_hash, created_at, subject_at, subject_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::timestamptz[], $5::timestamptz[], $6::uuid[])
ON CONFLICT DO NOTHING
RETURNING user_id, key`

// The limit has each claim looked up by its key.
const standingClaimsSQL = `-- name: StandingClaims
SELECT r.ord, k.content_hash, k.subject_at, k.subject_id
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS r (user_id, key, ord)
CROSS JOIN LATERAL (SELECT * FROM claims k WHERE k.user_id = r.user_id AND k.key = r.key LIMIT 1) k`

// mergeClaims makes claims and returns those that stood there before, by the index of the record. What others have
// committed meanwhile the second statement sees.
func mergeClaims(ctx context.Context, tx pgx.Tx, claims []importedClaim) (map[int]standing, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	type key struct{ userID, key string }
	isNew := map[key]bool{}
	var k key
	rows, err := tx.Query(ctx, importClaimsSQL,
		column(claims, func(c importedClaim) string { return c.userID }),
		column(claims, func(c importedClaim) string { return c.claim.Key }),
		column(claims, func(c importedClaim) []byte { return c.claim.ContentHash[:] }),
		column(claims, func(c importedClaim) pgtype.Timestamptz { return timestamp(&c.claim.CreatedAt) }),
		column(claims, func(c importedClaim) pgtype.Timestamptz { return at(c.subject) }),
		column(claims, func(c importedClaim) pgtype.UUID { return id(c.subject.ID) }))
	if err != nil {
		return nil, err
	}
	if _, err := pgx.ForEachRow(rows, []any{&k.userID, &k.key}, func() error { isNew[k] = true; return nil }); err != nil {
		return nil, err
	}
	var old []importedClaim
	for _, c := range claims {
		if k := (key{c.userID, c.claim.Key}); isNew[k] {
			delete(isNew, k) // the first record with this key has made it
			continue
		}
		old = append(old, c)
	}
	return standingClaims(ctx, tx, old)
}

func standingClaims(ctx context.Context, tx pgx.Tx, claims []importedClaim) (map[int]standing, error) {
	if len(claims) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, standingClaimsSQL,
		column(claims, func(c importedClaim) string { return c.userID }),
		column(claims, func(c importedClaim) string { return c.claim.Key }))
	if err != nil {
		return nil, err
	}
	found := make(map[int]standing, len(claims))
	var ord int64
	var s standing
	_, err = pgx.ForEachRow(rows, []any{&ord, &s.hash, &s.subject.CreatedAt, (*[16]byte)(&s.subject.ID)}, func() error {
		found[claims[ord-1].index] = s
		return nil
	})
	return found, err
}

const errOtherContent = "the key was used before for other content"

// countAlone counts the records of claims.
func (b *importBatch) countAlone(before map[int]standing) {
	for _, c := range b.claims {
		if !c.isAlone {
			continue
		}
		switch s, ok := before[c.index]; {
		case !ok:
			b.out.New++
		case string(s.hash) != string(c.claim.ContentHash[:]):
			b.refuse(c.index, errOtherContent)
		}
	}
}

// isToWrite reports whether what a record holds is to be written: its claim is new or, of one that goes back to its
// place, its own. It refuses the record where the claim is on other content.
func (b *importBatch) isToWrite(
	index int, before map[int]standing, isRestored bool, place inbox.Cursor, hasContent func([]byte) bool,
) bool {
	s, ok := before[index]
	switch {
	case !ok:
		return true
	case !hasContent(s.hash):
		b.refuse(index, errOtherContent)
		return false
	}
	return isRestored && s.subject.Compare(place) == 0
}

const importNotificationsSQL = `-- name: ImportNotifications
INSERT INTO notifications (user_id, created_at, id, kind, category, actor_id, title, body, url, data, read_at, archived_at)
SELECT n.user_id, n.created_at, n.id, n.kind, n.category, n.actor_id, n.title, n.body, n.url, n.data::json, n.read_at,
  n.archived_at
FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
  $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[])
  AS n (user_id, created_at, id, kind, category, actor_id, title, body, url, data, read_at, archived_at)
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeNotifications(ctx context.Context, tx pgx.Tx, before map[int]standing) error {
	var list []*inbox.NotificationRecord
	for _, n := range b.notifications {
		r := n.record
		if b.isToWrite(n.index, before, r.IsRestored, r.Position, r.HasContent) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil
	}
	type record = *inbox.NotificationRecord
	tag, err := tx.Exec(ctx, importNotificationsSQL,
		column(list, func(r record) string { return r.UserID }),
		column(list, func(r record) pgtype.Timestamptz { return at(r.Position) }),
		column(list, func(r record) pgtype.UUID { return id(r.Position.ID) }),
		column(list, func(r record) string { return r.Event.Kind }),
		column(list, func(r record) string { return r.Event.Category }),
		column(list, func(r record) *string { return r.Event.ActorID }),
		column(list, func(r record) string { return r.Event.Title }),
		column(list, func(r record) *string { return r.Event.Body }),
		column(list, func(r record) *string { return r.Event.URL }),
		column(list, func(r record) *string { return jsonText(r.Event.Data) }),
		column(list, func(r record) pgtype.Timestamptz { return timestamp(r.ReadAt) }),
		column(list, func(r record) pgtype.Timestamptz { return timestamp(r.ArchivedAt) }))
	b.out.New += int(tag.RowsAffected())
	return err
}

const importActivitiesSQL = `-- name: ImportActivities
INSERT INTO activities (user_id, created_at, id, verb, object, url, data, expires_at)
SELECT a.user_id, a.created_at, a.id, a.verb, a.object, a.url, a.data::json, a.expires_at
FROM unnest($1::text[], $2::timestamptz[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
  AS a (user_id, created_at, id, verb, object, url, data, expires_at)
ON CONFLICT DO NOTHING`

func (b *importBatch) mergeActivities(ctx context.Context, tx pgx.Tx, before map[int]standing) error {
	var list []*inbox.ActivityRecord
	for _, a := range b.activities {
		r := a.record
		if b.isToWrite(a.index, before, r.IsRestored, r.Position, r.HasContent) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil
	}
	type record = *inbox.ActivityRecord
	tag, err := tx.Exec(ctx, importActivitiesSQL,
		column(list, func(r record) string { return r.UserID }),
		column(list, func(r record) pgtype.Timestamptz { return at(r.Position) }),
		column(list, func(r record) pgtype.UUID { return id(r.Position.ID) }),
		column(list, func(r record) string { return r.Verb }),
		column(list, func(r record) *string { return r.Object }),
		column(list, func(r record) *string { return r.URL }),
		column(list, func(r record) *string { return jsonText(r.Data) }),
		column(list, func(r record) pgtype.Timestamptz { return timestamp(r.ExpiresAt) }))
	b.out.New += int(tag.RowsAffected())
	return err
}

// column returns a value of each element, for a parameter that a statement unnests.
func column[T, V any](list []T, value func(T) V) []V {
	values := make([]V, len(list))
	for i, element := range list {
		values[i] = value(element)
	}
	return values
}

// jsonText returns JSON for an array of texts, null for none.
func jsonText(data []byte) *string {
	if data == nil {
		return nil
	}
	text := string(data)
	return &text
}

package storage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"belfry/inbox"
)

// Importer writes records in bulk. It is for one goroutine; several may be at work at once.
type Importer struct {
	pool *pgxpool.Pool
	// isFresh says that the last batch met nothing that was there already.
	isFresh bool
}

// NewImporter returns an importer.
func (s *Store) NewImporter() *Importer { return &Importer{s.pool, true} }

// entry is a record and its place in a batch.
type entry[T any] struct {
	index  int
	record T
}

// maxItemUsers is the most users whose items one transaction writes: each takes an advisory lock, of which a
// server with default settings has 6,400.
const maxItemUsers = 1000

// Import writes records that have passed their Check, each completely or not at all. What is there already stays as
// it is. Items are written in transactions of their own; a record that the database refuses is found and left out.
//
// Imported notifications push nothing.
func (im *Importer) Import(ctx context.Context, records []inbox.Record) (inbox.ImportOutcome, error) {
	var out inbox.ImportOutcome
	for _, group := range importGroups(records) {
		if err := im.writeOrSplit(ctx, group, &out); err != nil {
			return out, fault("import", err)
		}
	}
	return out, nil
}

// importGroups splits records into what one transaction writes.
func importGroups(records []inbox.Record) [][]entry[inbox.Record] {
	var others, items []entry[inbox.Record]
	for i, r := range records {
		if _, ok := r.(*inbox.ItemRecord); ok {
			items = append(items, entry[inbox.Record]{i, r})
			continue
		}
		others = append(others, entry[inbox.Record]{i, r})
	}
	var groups [][]entry[inbox.Record]
	if len(others) > 0 {
		groups = append(groups, others)
	}
	slices.SortStableFunc(items, func(a, b entry[inbox.Record]) int { return strings.Compare(a.record.Owner(), b.record.Owner()) })
	for start, users, i := 0, 0, 0; i < len(items); i++ {
		if i == 0 || items[i].record.Owner() != items[i-1].record.Owner() {
			users++
		}
		if isLast := i+1 == len(items); isLast || users == maxItemUsers && items[i+1].record.Owner() != items[i].record.Owner() {
			groups, start, users = append(groups, items[start:i+1]), i+1, 0
		}
	}
	return groups
}

// writeOrSplit writes records in one transaction, or, where the database refuses one of them for what is in it, in
// several without that one.
func (im *Importer) writeOrSplit(ctx context.Context, records []entry[inbox.Record], out *inbox.ImportOutcome) error {
	written, err := im.insist(ctx, records)
	if err == nil {
		out.New += written.New
		out.Refused = append(out.Refused, written.Refused...)
		return nil
	}
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !isOfData(refusal.Code) {
		return err
	}
	if len(records) == 1 {
		out.Refused = append(out.Refused, inbox.Refusal{
			Index: records[0].index, Message: "the database refuses it: " + refusal.Message,
		})
		return nil
	}
	half := len(records) / 2
	if err := im.writeOrSplit(ctx, records[:half], out); err != nil {
		return err
	}
	return im.writeOrSplit(ctx, records[half:], out)
}

// isOfData reports whether an SQLSTATE blames what was to be written: data exception, integrity constraint
// violation, program limit exceeded.
func isOfData(sqlstate string) bool {
	return slices.Contains([]string{"22", "23", "54"}, sqlstate[:2])
}

// insist writes records in one transaction and begins again where Postgres has ended it for the sake of another, or
// where something was there that it did not expect.
func (im *Importer) insist(ctx context.Context, records []entry[inbox.Record]) (out inbox.ImportOutcome, err error) {
	const tries = 5
	for range tries {
		b := sorted(records)
		err = pgx.BeginFunc(ctx, im.pool, func(tx pgx.Tx) error {
			if im.isFresh {
				return b.copy(ctx, tx)
			}
			return b.merge(ctx, tx)
		})
		refusal, ok := errors.AsType[*pgconn.PgError](err)
		switch isFresh := im.isFresh; {
		case err == nil:
			im.isFresh = b.out.New == len(records)
			return b.out, nil
		case ok && isFresh && refusal.Code == uniqueViolation:
			im.isFresh = false
		case !ok || !strings.HasPrefix(refusal.Code, "40"):
			return b.out, err
		}
	}
	return out, err
}

// uniqueViolation is the SQLSTATE of a key that is there already.
const uniqueViolation = "23505"

// importBatch holds the records of a transaction by what they are, each kind in the order of its keys: so two
// imports, or an import and a dispatch, wait for each other and never deadlock.
type importBatch struct {
	accounts      []entry[*inbox.AccountRecord]
	settings      []entry[*inbox.SettingsRecord]
	seen          []entry[*inbox.SeenRecord]
	devices       []entry[*inbox.DeviceRecord]
	notifications []entry[*inbox.NotificationRecord]
	activities    []entry[*inbox.ActivityRecord]
	items         []entry[*inbox.ItemRecord]
	claims        []importedClaim
	deliveries    []entry[*inbox.DeliveryRecord]

	out inbox.ImportOutcome
}

func sorted(records []entry[inbox.Record]) *importBatch {
	b := &importBatch{}
	for _, e := range records {
		switch r := e.record.(type) {
		case *inbox.AccountRecord:
			b.accounts = append(b.accounts, entry[*inbox.AccountRecord]{e.index, r})
		case *inbox.SettingsRecord:
			b.settings = append(b.settings, entry[*inbox.SettingsRecord]{e.index, r})
		case *inbox.SeenRecord:
			b.seen = append(b.seen, entry[*inbox.SeenRecord]{e.index, r})
		case *inbox.DeviceRecord:
			b.devices = append(b.devices, entry[*inbox.DeviceRecord]{e.index, r})
		case *inbox.NotificationRecord:
			b.notifications = append(b.notifications, entry[*inbox.NotificationRecord]{e.index, r})
		case *inbox.ActivityRecord:
			b.activities = append(b.activities, entry[*inbox.ActivityRecord]{e.index, r})
		case *inbox.ItemRecord:
			b.items = append(b.items, entry[*inbox.ItemRecord]{e.index, r})
		case *inbox.DeliveryRecord:
			b.deliveries = append(b.deliveries, entry[*inbox.DeliveryRecord]{e.index, r})
		}
		if c, ok := claimOf(e); ok {
			b.claims = append(b.claims, c)
		}
	}
	b.sort()
	return b
}

// sort puts each kind into order. Of two records with one key the earlier one is to be written: it comes first.
func (b *importBatch) sort() {
	byOwner(b.accounts)
	byOwner(b.settings)
	byOwner(b.seen)
	slices.SortFunc(b.notifications, func(x, y entry[*inbox.NotificationRecord]) int {
		return byPosition(x.record.UserID, y.record.UserID, &x.record.Position, &y.record.Position, x.index-y.index)
	})
	slices.SortFunc(b.activities, func(x, y entry[*inbox.ActivityRecord]) int {
		return byPosition(x.record.UserID, y.record.UserID, &x.record.Position, &y.record.Position, x.index-y.index)
	})
	slices.SortFunc(b.items, func(x, y entry[*inbox.ItemRecord]) int {
		return byText(x.record.UserID, y.record.UserID, x.record.ItemID, y.record.ItemID, x.index-y.index)
	})
	slices.SortFunc(b.claims, func(x, y importedClaim) int {
		return byText(x.userID, y.userID, x.claim.Key, y.claim.Key, x.index-y.index)
	})
	// A token is unique among all users.
	slices.SortFunc(b.devices, func(x, y entry[*inbox.DeviceRecord]) int {
		return byText(x.record.Token, y.record.Token, "", "", x.index-y.index)
	})
	slices.SortFunc(b.deliveries, func(x, y entry[*inbox.DeliveryRecord]) int {
		return byPosition(x.record.UserID, y.record.UserID, &x.record.Notification, &y.record.Notification, x.index-y.index)
	})
}

func byOwner[T inbox.Record](list []entry[T]) {
	slices.SortFunc(list, func(x, y entry[T]) int { return byText(x.record.Owner(), y.record.Owner(), "", "", x.index-y.index) })
}

// byPosition and byText order by user, then by what comes next, then by place in the batch. They are called ten
// times for each record, and so compare no more than they must.
func byPosition(user, other string, at, otherAt *inbox.Cursor, index int) int {
	if n := strings.Compare(user, other); n != 0 {
		return n
	}
	if n := at.Compare(*otherAt); n != 0 {
		return n
	}
	return index
}

func byText(user, other, key, otherKey string, index int) int {
	if n := strings.Compare(user, other); n != 0 {
		return n
	}
	if n := strings.Compare(key, otherKey); n != 0 {
		return n
	}
	return index
}

// refuse notes that a record is not written.
func (b *importBatch) refuse(index int, message string) {
	b.out.Refused = append(b.out.Refused, inbox.Refusal{Index: index, Message: message})
}

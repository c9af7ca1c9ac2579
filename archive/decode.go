package archive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"belfry/inbox"
)

// scanRecord has how the rest of a line is read, by its type.
var scanRecord = map[string]func(*scanner) inbox.Record{
	"account":      scanAccount,
	"settings":     scanSettings,
	"seen":         scanSeen,
	"device":       scanDevice,
	"notification": scanNotification,
	"activity":     scanActivity,
	"item":         scanItem,
	"claim":        scanClaim,
	"pushDelivery": scanDelivery,
}

// decode reads a line, without its line break, checks it and makes it ready to be written. Its error is what is wrong
// with the line, in one line of text, which holds nothing of it but names of fields.
func (s *scanner) decode(line string, now time.Time) (inbox.Record, error) {
	if !utf8.ValidString(line) {
		return nil, fmt.Errorf("is not UTF-8")
	}
	scan, err := s.typeOf(line)
	if err != nil {
		return nil, err
	}
	s.reset(line)
	record := scan(s)
	s.end()
	if s.err != nil {
		return nil, s.err
	}
	if errs := record.Check(now); len(errs) > 0 {
		return nil, faults(errs)
	}
	switch r := record.(type) {
	case *inbox.NotificationRecord:
		r.Place(now)
	case *inbox.ActivityRecord:
		r.Place(now)
	case *inbox.ItemRecord:
		r.Place(now)
	case *inbox.DeliveryRecord:
		r.Settle(now)
	}
	return record, nil
}

// typeOf finds the member type, which may stand anywhere: not every tool keeps an order.
func (s *scanner) typeOf(line string) (func(*scanner) inbox.Record, error) {
	if rest, ok := strings.CutPrefix(line, `{"type":"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		if scan := scanRecord[name]; scan != nil {
			return scan, nil
		}
	}
	var scan func(*scanner) inbox.Record
	s.reset(line)
	s.object(func(name string) {
		if name != "type" {
			s.raw()
			return
		}
		if scan = scanRecord[s.string()]; scan == nil {
			s.failf("must be one of %s", strings.Join(slices.Sorted(maps.Keys(scanRecord)), ", "))
		} else if s.err == nil {
			s.err = errFound // the rest is for scan to look at
		}
	})
	switch {
	case scan != nil:
		return scan, nil
	case s.err != nil:
		return nil, s.err
	}
	return nil, fmt.Errorf("type: is required")
}

// errFound ends a search.
var errFound = errors.New("found")

// faults puts what a check has found into one line.
func faults(errs []*inbox.UserError) error {
	texts := make([]string, 0, len(errs))
	for _, e := range errs {
		path := strings.TrimPrefix(strings.Join(e.Field, "."), "input.")
		if path == "occurredAt" {
			path = "createdAt" // as lines call it
		}
		texts = append(texts, path+": "+e.Message)
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}

// scanNotification reads a notification.
func scanNotification(s *scanner) inbox.Record {
	n := &inbox.NotificationRecord{}
	var id *inbox.NodeID
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "id":
			id = s.nodeID(inbox.KindNotification)
		case "userId":
			n.UserID = s.string()
		case "runId":
			n.Event.RunID = s.optional()
		case "idempotencyKey":
			n.Event.IdempotencyKey = s.optional()
		case "kind":
			n.Event.Kind = s.string()
		case "category":
			n.Event.Category = s.string()
		case "actor":
			n.Event.ActorID = s.optional()
		case "title":
			n.Event.Title = s.string()
		case "body":
			n.Event.Body = s.optional()
		case "url":
			n.Event.URL = s.optional()
		case "data":
			n.Event.Data = s.json()
		case "createdAt":
			n.Event.OccurredAt = s.instant()
		case "readAt":
			n.ReadAt = s.instant()
		case "archivedAt":
			n.ArchivedAt = s.instant()
		case "claim":
			n.Claim = s.claim()
		default:
			s.unknown()
		}
	})
	n.Position, n.IsRestored = s.restored(id, n.UserID, n.Claim, &n.Event.OccurredAt)
	return n
}

// scanActivity reads an activity.
func scanActivity(s *scanner) inbox.Record {
	a := &inbox.ActivityRecord{}
	var id *inbox.NodeID
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "id":
			id = s.nodeID(inbox.KindActivity)
		case "userId":
			a.UserID = s.string()
		case "idempotencyKey":
			a.IdempotencyKey = s.optional()
		case "verb":
			a.Verb = s.string()
		case "object":
			a.Object = s.optional()
		case "url":
			a.URL = s.optional()
		case "data":
			a.Data = s.json()
		case "createdAt":
			a.OccurredAt = s.instant()
		case "expiresAt":
			a.ExpiresAt = s.instant()
		case "claim":
			a.Claim = s.claim()
		default:
			s.unknown()
		}
	})
	a.Position, a.IsRestored = s.restored(id, a.UserID, a.Claim, &a.OccurredAt)
	return a
}

// restored returns the place that an exported line goes back to, and whether it has one: an id holds the time too.
func (s *scanner) restored(
	id *inbox.NodeID, userID string, claim *inbox.Claim, createdAt **time.Time,
) (inbox.Cursor, bool) {
	if id == nil {
		if claim != nil {
			s.fail("claim", "takes an id; a history has runId or idempotencyKey")
		}
		return inbox.Cursor{}, false
	}
	if !s.owned("id", id, userID) {
		return inbox.Cursor{}, false
	}
	at := id.Position.CreatedAt
	if *createdAt = cmp.Or(*createdAt, &at); !(*createdAt).Equal(at) {
		s.fail("createdAt", "is not that of the id")
	}
	return id.Position, true
}

// claim reads the claim of a notification or an activity.
func (s *scanner) claim() *inbox.Claim {
	if s.null() {
		return nil
	}
	claim := &inbox.Claim{}
	s.object(func(name string) {
		if !s.claimMember(claim, name) {
			s.unknown()
		}
	})
	return claim
}

// claimMember reads a member of a claim and reports whether there is one of that name.
func (s *scanner) claimMember(claim *inbox.Claim, name string) bool {
	switch name {
	case "key":
		claim.Key = s.string()
	case "contentHash":
		s.digest(claim.ContentHash[:])
	case "createdAt":
		claim.CreatedAt = s.moment()
	default:
		return false
	}
	return true
}

// scanClaim reads a claim whose notification or activity is gone.
func scanClaim(s *scanner) inbox.Record {
	r := &inbox.ClaimRecord{}
	var subject *inbox.NodeID
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "subjectId":
			subject = s.nodeID(inbox.KindNotification, inbox.KindActivity)
		default:
			if !s.claimMember(&r.Claim, name) {
				s.unknown()
			}
		}
	})
	if s.owned("subjectId", subject, r.UserID) {
		r.Subject = subject.Position
	}
	return r
}

package retention

import (
	"context"
	"time"

	"belfry/storage"
)

// Swept is what became of one kind of things.
type Swept struct {
	Kind string
	// Before is the time before which things were old; zero where they are kept for ever.
	Before time.Time
	// Rows is how many went, or would go.
	Rows int
	Took time.Duration
}

// task is one kind of things to sweep.
type task struct {
	kind   string
	before time.Time
	purges []storage.Purge
}

// tasks returns what there is to sweep. What is kept for ever has no purges.
func (t TTL) tasks(w *storage.Sweep) []task {
	all, read := cutoff(w, t.Notifications), cutoff(w, t.ReadNotifications)
	claims, pushes := cutoff(w, t.Claims), cutoff(w, t.Pushes)
	var readPurges []storage.Purge
	if read.After(all) { // else those go with the others
		readPurges = w.ReadNotifications(all, read)
	}
	return []task{
		{"notifications", all, purges(all, w.Notifications)},
		{"read notifications", read, readPurges},
		{"activities", w.Now, purges(w.Now, w.Activities)},
		{"claims", claims, purges(claims, w.Claims)},
		{"push ledger", pushes, purges(pushes, w.Pushes)},
	}
}

// cutoff returns the time before which things are old, zero where they are kept for ever.
func cutoff(w *storage.Sweep, ttl time.Duration) time.Time {
	if ttl == 0 {
		return time.Time{}
	}
	return w.Now.Add(-ttl)
}

func purges(before time.Time, of func(time.Time) storage.Purge) []storage.Purge {
	if before.IsZero() {
		return nil
	}
	return []storage.Purge{of(before)}
}

// Sweep removes what is old, once, unless another process is at it or has been within so long: then it
// returns false. After an error the first rows are gone all the same, and the next sweep goes on.
func (j *Janitor) Sweep(ctx context.Context, unlessWithin time.Duration) ([]Swept, bool, error) {
	return j.goOver(ctx, unlessWithin, true)
}

// Count counts what Sweep would remove, and returns false as Sweep does.
func (j *Janitor) Count(ctx context.Context) ([]Swept, bool, error) {
	return j.goOver(ctx, 0, false)
}

func (j *Janitor) goOver(ctx context.Context, unlessWithin time.Duration, remove bool) ([]Swept, bool, error) {
	w, ok, err := j.cfg.Store.BeginSweep(ctx, unlessWithin)
	if err != nil || !ok {
		return nil, false, err
	}
	defer w.Close(ctx)
	var all []Swept
	for _, t := range j.cfg.TTL.tasks(w) {
		s, err := j.carryOut(ctx, t, remove)
		all = append(all, s)
		if err != nil {
			return all, true, err
		}
	}
	if remove {
		err = w.End(ctx)
	}
	return all, true, err
}

// carryOut goes over one kind of things, with pauses.
func (j *Janitor) carryOut(ctx context.Context, t task, remove bool) (Swept, error) {
	began := time.Now()
	s := Swept{Kind: t.kind, Before: t.before}
	for _, p := range t.purges {
		err := inBatches(ctx, func() (bool, error) {
			batch, err := p.Next(ctx, remove)
			s.Rows += batch.Rows
			s.Took = time.Since(began)
			j.changed(batch.Users)
			return batch.IsLast, err
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

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
	cutoff := func(ttl time.Duration) time.Time {
		if ttl == 0 {
			return time.Time{}
		}
		return w.Now.Add(-ttl)
	}
	all, read := cutoff(t.Notifications), cutoff(t.ReadNotifications)
	claims, pushes := cutoff(t.Claims), cutoff(t.Pushes)
	tasks := []task{
		{"notifications", all, nil}, {"read notifications", read, nil}, {"activities", w.Now, []storage.Purge{w.Activities(w.Now)}},
		{"claims", claims, nil}, {"push ledger", pushes, nil},
	}
	if !all.IsZero() {
		tasks[0].purges = []storage.Purge{w.Notifications(all)}
	}
	if read.After(all) { // else those have gone with the others
		tasks[1].purges = w.ReadNotifications(all, read)
	}
	if !claims.IsZero() {
		tasks[3].purges = []storage.Purge{w.Claims(claims)}
	}
	if !pushes.IsZero() {
		tasks[4].purges = []storage.Purge{w.Pushes(pushes)}
	}
	return tasks
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
		for {
			batchBegan := time.Now()
			batch, err := p.Next(ctx, remove)
			s.Rows += batch.Rows
			s.Took = time.Since(began)
			if err != nil {
				return s, err
			}
			j.changed(batch.Users)
			if batch.IsLast {
				break
			}
			if err := pause(ctx, time.Since(batchBegan)); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

package storage_test

import (
	"context"
	"errors"
	"time"

	"belfry/storage"
)

// sweepAll sends the statements of a sweep. There is one call of them all: what EXPLAIN runs keeps the lock.
func sweepAll(ctx context.Context, s *storage.Store) error {
	w, ok, err := s.BeginSweep(ctx, 0)
	if err != nil || !ok {
		return errors.Join(err, errors.New("no sweep"))
	}
	defer w.Close(ctx)
	longAgo := moment.Add(-365 * 24 * time.Hour)
	for _, remove := range []bool{false, true} {
		purges := append(w.ReadNotifications(longAgo, moment.Add(time.Second)),
			w.Notifications(moment.Add(time.Second)), w.Claims(longAgo), w.Activities(longAgo), w.Pushes(longAgo))
		for _, p := range purges {
			if _, err := p.Next(ctx, remove); err != nil {
				return err
			}
		}
	}
	return w.End(ctx)
}

// eraseStepwise sends the statements of an erasure.
func eraseStepwise(ctx context.Context, s *storage.Store) error {
	if _, _, err := s.ResumeErasure(ctx, time.Hour); err != nil {
		return err
	}
	e, err := s.BeginErasure(ctx, "light99")
	if err != nil {
		return err
	}
	for _, p := range storage.EraseParts() {
		if _, _, err := s.EraseSome(ctx, e, p); err != nil {
			return err
		}
	}
	if _, err := s.ForgetActor(ctx, e); err != nil {
		return err
	}
	_, _, err = s.FinishErasure(ctx, e)
	return err
}

package retention

import (
	"context"
	"errors"

	"belfry/inbox"
	"belfry/storage"
)

// EraseUser removes every trace of a user, and returns when none is left. What it can't finish in time, or
// after an error, is finished by the Run of some process. Asking again goes on where it is.
func (j *Janitor) EraseUser(ctx context.Context, userID string) error {
	ctx, cancel := context.WithTimeout(ctx, j.cfg.EraseTimeout)
	defer cancel()
	e, err := j.cfg.Store.BeginErasure(ctx, userID)
	if err != nil {
		return err
	}
	err = j.erase(ctx, e)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return inbox.Wrap(inbox.Unavailable, err, "the erasure takes longer: the server finishes it, ask again to see that it has")
	}
	return err
}

// finishErasures finishes the erasures at which nobody works any more.
func (j *Janitor) finishErasures(ctx context.Context) error {
	for {
		e, ok, err := j.cfg.Store.ResumeErasure(ctx, j.cfg.ErasureIdle)
		if err != nil || !ok {
			return err
		}
		if err := j.erase(ctx, e); err != nil {
			return err
		}
	}
}

// erasure is the work at one.
type erasure struct {
	*Janitor
	*storage.Erasure
	gone map[string]int // rows by table, removed by this process
	// actors is how many notifications of others have lost the user as their actor.
	actors int
}

// erase takes all steps. Each may be the last that this process takes, and all but the search for the actor
// begin anew where another process goes on.
func (j *Janitor) erase(ctx context.Context, e *storage.Erasure) error {
	w := &erasure{Janitor: j, Erasure: e, gone: map[string]int{}}
	for _, step := range []func(context.Context) error{
		w.eraseParts, w.forgetActor,
		w.eraseParts, // what has come meanwhile: the search may take long
		w.finish,
	} {
		err := step(ctx)
		// The subscribers have to hear of what has gone, whatever comes next.
		j.cfg.Changed(e.UserID)
		if errors.Is(err, storage.ErrErased) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *erasure) eraseParts(ctx context.Context) error {
	for _, p := range storage.EraseParts() {
		err := inBatches(ctx, func() (bool, error) {
			gone, isLast, err := w.cfg.Store.EraseSome(ctx, w.Erasure, p)
			w.gone[p.Table] += gone
			return isLast, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *erasure) forgetActor(ctx context.Context) error {
	return inBatches(ctx, func() (bool, error) {
		f, err := w.cfg.Store.ForgetActor(ctx, w.Erasure)
		w.actors += f.Rows
		w.changed(f.Users)
		return f.IsLast, err
	})
}

// finish removes what is left, and leaves a line in the log that names nobody.
func (w *erasure) finish(ctx context.Context) error {
	gone, took, err := w.cfg.Store.FinishErasure(ctx, w.Erasure)
	if err != nil {
		return err
	}
	for table, n := range gone {
		w.gone[table] += n
	}
	w.cfg.Logger.Info("user erased", "erasure_id", w.ID.String(), "duration_ms", took.Milliseconds(),
		"removed", w.gone, "actor_of", w.actors)
	return nil
}

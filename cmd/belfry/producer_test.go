package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"belfry/inbox"
)

// producers are clients that, like any, try again until they know that an event is dispatched.
type producers struct {
	t       *testing.T
	current atomic.Pointer[client] // the server that is up, or was
	told    *ledger
	acked   atomic.Int64 // dispatches that were done
	refused atomic.Int64 // attempts that were answered with UNAVAILABLE
	dropped atomic.Int64 // attempts that were not answered
	longest atomic.Int64 // time that an answer took, in nanoseconds
	work    sync.WaitGroup
}

// run starts n producers, an even number. Each event is dispatched by two of them.
func (p *producers) run(n int, runs []string) {
	for i := range n {
		p.work.Go(func() {
			for j, run := range runs {
				if j%(n/2) != i%(n/2) {
					continue
				}
				if err := p.insist(run); err != nil {
					p.t.Errorf("%s: %v", run, err)
					return
				}
			}
		})
	}
}

// insist dispatches an event until it is answered.
func (p *producers) insist(run string) error {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*patience)
	defer cancel()
	for {
		began := time.Now()
		results, err := p.current.Load().dispatch(ctx, run, shuffled()...)
		p.note(time.Since(began))
		refusal, isAnswer := errors.AsType[answerError](err)
		switch {
		case err == nil:
			p.acked.Add(1)
			return p.told.add(run, results)
		case ctx.Err() != nil, isAnswer && refusal.Extensions.Code != string(inbox.Unavailable):
			return err
		case isAnswer:
			p.refused.Add(1)
		default:
			p.dropped.Add(1)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// note keeps the longest of the times.
func (p *producers) note(took time.Duration) {
	for {
		longest := p.longest.Load()
		if int64(took) <= longest || p.longest.CompareAndSwap(longest, int64(took)) {
			return
		}
	}
}

func (p *producers) slowest() time.Duration { return time.Duration(p.longest.Load()) }

package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"belfry/inbox"
)

// Config says where an import leads and who hears of it.
type Config struct {
	// Writers write records, each from one goroutine at a time. All records of a user go to the same writer, in the
	// order of their lines.
	Writers []func(context.Context, []inbox.Record) (inbox.ImportOutcome, error)
	// Fault is told of each line that is not imported, in the order of lines.
	Fault func(number int, err error)
	// Progress is told whenever some more lines are imported.
	Progress func(Summary)
}

// Summary is what became of the lines up to one.
type Summary struct {
	// Through is the number of the last line of which it is known: it and all before it are imported, or bad.
	Through int
	// New, There and Bad count records that were written, that were there already, and that are wrong.
	New, There, Bad int
}

// Total counts all lines but the empty ones.
func (s Summary) Total() int { return s.New + s.There + s.Bad }

// job is a chunk on its way through an import.
type job struct {
	lines   []line
	parsed  chan struct{} // closed when what follows is there
	shards  []shard       // one for each writer
	faults  []fault
	written sync.WaitGroup // done when each shard has its outcome, or error
}

// shard is what one writer gets of a chunk.
type shard struct {
	records []inbox.Record
	numbers []int // of their lines
	outcome inbox.ImportOutcome
	err     error
}

type fault struct {
	number int
	err    error
}

// The number of chunks that may wait between two stages: enough to keep all of them busy.
const waitingChunks = 2

// Import reads lines and has the good ones written: bad lines keep no others out. An error ends it; all that the
// summary counts is imported then, of the rest perhaps some, and another import of the same lines, or of those after
// Summary.Through, does the rest.
//
// Lines are read by one goroutine, parsed by as many as there are processors, and dealt to the writers in order.
// Each stage takes all that the one before sends; the first alone stops.
func Import(ctx context.Context, in io.Reader, cfg Config) (Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ordered, parsing, dealt := make(chan *job, waitingChunks), make(chan *job), make(chan *job, waitingChunks)
	var stages sync.WaitGroup
	defer stages.Wait()
	var readErr error // known when ordered is closed, and so when dealt is
	stages.Go(func() {
		defer close(ordered)
		defer close(parsing)
		readErr = feed(ctx, in, ordered, parsing)
	})
	seed := maphash.MakeSeed()
	for range runtime.GOMAXPROCS(0) {
		stages.Go(func() {
			for j := range parsing {
				j.parse(seed, len(cfg.Writers))
			}
		})
	}
	stages.Go(func() { deal(ctx, cancel, cfg, ordered, dealt) })
	sum := collect(cfg, dealt)
	if err := cmp.Or(context.Cause(ctx), readErr); err != nil {
		return sum, fmt.Errorf("everything up to line %d is imported, run it again for the rest: %w", sum.Through, err)
	}
	return sum, nil
}

// feed sends the chunks of the input on, to be parsed and in their order. A read that hangs does not keep it from
// ending with ctx.
func feed(ctx context.Context, in io.Reader, ordered, parsing chan<- *job) error {
	type chunk struct {
		lines []line
		err   error
	}
	chunks := make(chan chunk)
	go func() {
		defer close(chunks)
		r := newReader(in)
		for {
			lines, err := r.next()
			select {
			case chunks <- chunk{lines, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		var c chunk
		select {
		case c = <-chunks:
		case <-ctx.Done():
			return nil
		}
		if len(c.lines) > 0 {
			j := &job{lines: c.lines, parsed: make(chan struct{})}
			parsing <- j
			ordered <- j
		}
		switch {
		case errors.Is(c.err, io.EOF):
			return nil
		case c.err != nil:
			return fmt.Errorf("read: %w", c.err)
		}
	}
}

// parse turns lines into records for the writers of their users.
func (j *job) parse(seed maphash.Seed, writers int) {
	defer close(j.parsed)
	j.shards = make([]shard, writers)
	now := time.Now().UTC().Truncate(time.Microsecond)
	var s scanner
	for _, l := range j.lines {
		var record inbox.Record
		if l.err == nil {
			record, l.err = s.decode(l.text, now)
		}
		if l.err != nil {
			j.faults = append(j.faults, fault{l.number, l.err})
			continue
		}
		//nolint:gosec // There are few writers.
		to := &j.shards[maphash.String(seed, record.Owner())%uint64(writers)]
		to.records, to.numbers = append(to.records, record), append(to.numbers, l.number)
	}
}

// deal gives each writer its shard of each chunk.
func deal(ctx context.Context, cancel context.CancelCauseFunc, cfg Config, ordered <-chan *job, dealt chan<- *job) {
	var writers sync.WaitGroup
	queues := make([]chan *job, len(cfg.Writers))
	for i, write := range cfg.Writers {
		queues[i] = make(chan *job, waitingChunks)
		writers.Go(func() {
			for j := range queues[i] {
				if s := &j.shards[i]; len(s.records) > 0 {
					if s.outcome, s.err = write(ctx, s.records); s.err != nil {
						cancel(s.err)
					}
				}
				j.written.Done()
			}
		})
	}
	for j := range ordered {
		<-j.parsed
		j.written.Add(len(queues))
		for _, q := range queues {
			q <- j
		}
		dealt <- j
	}
	for _, q := range queues {
		close(q)
	}
	writers.Wait()
	close(dealt)
}

// collect adds up what became of the chunks, in order, up to the first that is not written.
func collect(cfg Config, dealt <-chan *job) Summary {
	var sum Summary
	isWhole := true
	for j := range dealt {
		j.written.Wait()
		isWhole = isWhole && !slices.ContainsFunc(j.shards, func(s shard) bool { return s.err != nil })
		if isWhole {
			sum.add(j, cfg.Fault)
			cfg.Progress(sum)
		}
	}
	return sum
}

// add counts a chunk and tells of its bad lines.
func (s *Summary) add(j *job, tell func(number int, err error)) {
	for _, sh := range j.shards {
		for _, r := range sh.outcome.Refused {
			j.faults = append(j.faults, fault{sh.numbers[r.Index], errors.New(r.Message)})
		}
		s.New += sh.outcome.New
		s.There += len(sh.records) - sh.outcome.New - len(sh.outcome.Refused)
	}
	slices.SortStableFunc(j.faults, func(a, b fault) int { return a.number - b.number })
	for _, f := range j.faults {
		tell(f.number, f.err)
	}
	s.Bad += len(j.faults)
	s.Through = j.lines[len(j.lines)-1].number
}

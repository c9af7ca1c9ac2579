// Command bench measures Belfry against what it is compared with, side by side in one run, and prints
// ratios: absolute times do not hold on shared machines.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var b bench
	var isServer, isFloor bool
	var page string
	flag.BoolVar(&isServer, "server", false, "be the process that is measured")
	flag.BoolVar(&isFloor, "floor", false, "be the process that Belfry is compared with")
	flag.StringVar(&page, "write", "", "put the figures into this page too, such as bench/README.md")
	b.flags()
	flag.Parse()
	switch {
	case isServer:
		return serve(ctx)
	case isFloor:
		return serveFloor(ctx)
	}
	if b.isQuick() {
		b.recipients /= 6
	}
	var err error
	if b.database, err = openDatabase(ctx, ""); err != nil {
		return err
	}
	defer func() { _ = b.database.Close() }()
	b.databaseURL = b.database.url
	if b.profile != "" {
		return errors.Join(b.writeProfile(ctx), b.closeStage())
	}
	err = errors.Join(b.measure(ctx), b.printTable(os.Stdout))
	if err == nil && page != "" {
		err = b.writePage(ctx, page)
	}
	return err
}

// flags adds the flags that say what is measured and how.
func (b *bench) flags() {
	flag.StringVar(&b.only, "only", "", "these measurements, separated by commas: "+names(append(b.staged(), b.others()...)))
	flag.StringVar(&b.profile, "profile", "", "write a CPU profile of belfry serve under load to this file, in place of figures")
	flag.StringVar(&b.profiled, "profiled", "", "what loads the server for the profile: page or dispatch; both where empty")
	flag.IntVar(&b.sockets, "sockets", 2000, "idle subscriptions to hold open")
	flag.IntVar(&b.subscribers, "subscribers", 1000, "live subscribers while there is load")
	flag.IntVar(&b.devices, "devices", 20_000, "devices to push to")
	flag.IntVar(&b.recipients, "recipients", 600_000, "recipients of the large dispatch; a sixth of them in one round")
	flag.IntVar(&b.expired, "expired", 5_000_000, "notifications that are too old; a fiftieth of them in one round")
	flag.IntVar(&b.lines, "lines", 500_000, "lines of the import")
	flag.IntVar(&b.rounds, "rounds", 3, "rounds of each measurement; 1 is quick, with fewer rows")
	flag.IntVar(&b.seconds, "seconds", 5, "length of a round under load")
}

// measurement is a topic: some figures that are measured together.
type measurement struct {
	name    string
	measure func(context.Context) error
}

// staged are the measurements on the stage; the others come when it is gone, whose Postgres has much to tidy up.
func (b *bench) staged() []measurement {
	return []measurement{
		{"page", b.page}, {"allocs", b.allocs}, {"depth", b.depth}, {"users", b.hundredUsers}, {"dispatch", b.dispatches},
		{"start", b.starts}, {"mixed", b.mixed},
	}
}

func (b *bench) others() []measurement {
	return []measurement{
		{"memory", b.memory}, {"latency", b.latency}, {"live", b.throughput},
		{"push", b.pushThroughput}, {"pushrate", b.pushRate}, {"pushcost", b.pushCost}, {"pushmany", b.pushMany},
		{"sweep", b.sweep}, {"import", b.importRates},
	}
}

func names(list []measurement) string {
	var all []string
	for _, m := range list {
		all = append(all, m.name)
	}
	return strings.Join(all, ", ")
}

// measure takes all measurements, or those that are named.
func (b *bench) measure(ctx context.Context) error {
	if err := errors.Join(b.measureEach(ctx, b.staged()), b.closeStage()); err != nil {
		return err
	}
	return b.measureEach(ctx, b.others())
}

func (b *bench) measureEach(ctx context.Context, list []measurement) error {
	for _, m := range list {
		if b.only != "" && !slices.Contains(strings.Split(b.only, ","), m.name) {
			continue
		}
		started := time.Now()
		if err := m.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.0f s\n", m.name, time.Since(started).Seconds())
	}
	return nil
}

// bench is what is to be measured, and what came of it.
type bench struct {
	sockets, subscribers, devices, recipients, expired, lines, rounds, seconds int

	only string // names of measurements
	// profile is the file for a profile, profiled what to profile.
	profile, profiled string

	database    *database
	databaseURL string
	stage       *stage // nil until openStage
	figures     []figure
}

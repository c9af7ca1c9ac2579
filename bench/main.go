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
	"text/tabwriter"
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
	var isServer bool
	var only string
	flag.BoolVar(&isServer, "server", false, "be the process that is measured")
	flag.StringVar(&only, "only", "", "one measurement: memory, latency, live, push, pushrate, pushcost, pushmany or import")
	flag.IntVar(&b.sockets, "sockets", 2000, "idle subscriptions to hold open")
	flag.IntVar(&b.subscribers, "subscribers", 1000, "live subscribers while there is load")
	flag.IntVar(&b.devices, "devices", 20_000, "devices to push to")
	flag.IntVar(&b.recipients, "recipients", 600_000, "recipients of the large dispatch")
	flag.IntVar(&b.lines, "lines", 500_000, "lines of the import")
	flag.IntVar(&b.rounds, "rounds", 3, "rounds of each measurement; 1 is quick")
	flag.IntVar(&b.seconds, "seconds", 5, "length of a round under load")
	flag.Parse()
	if isServer {
		return serve(ctx)
	}
	b.out = tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	database, err := openDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = database.Close() }()
	b.databaseURL = database.url
	for _, m := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"memory", b.memory}, {"latency", b.latency}, {"live", b.throughput},
		{"push", b.pushThroughput}, {"pushrate", b.pushRate}, {"pushcost", b.pushCost}, {"pushmany", b.pushMany},
		{"import", b.importRates},
	} {
		if only != "" && only != m.name {
			continue
		}
		if err := m.measure(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", m.name, err), b.out.Flush())
		}
	}
	return b.out.Flush()
}

// bench is what is to be measured, and where the results go.
type bench struct {
	sockets, subscribers, devices, recipients, lines, rounds, seconds int

	databaseURL string
	out         *tabwriter.Writer
}

// report prints a figure, what it must reach, and how it was measured.
func (b *bench) report(figure, value, target string) {
	_, _ = fmt.Fprintf(b.out, "%s\t%s\t%s\n", figure, value, target)
}

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
	flag.BoolVar(&isServer, "server", false, "be the process that is measured")
	flag.IntVar(&b.sockets, "sockets", 2000, "idle subscriptions to hold open")
	flag.IntVar(&b.subscribers, "subscribers", 1000, "live subscribers while there is load")
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
	err = errors.Join(b.memory(ctx), b.latency(ctx), b.throughput(ctx))
	return errors.Join(err, b.out.Flush())
}

// bench is what is to be measured, and where the results go.
type bench struct {
	sockets, subscribers, rounds, seconds int

	databaseURL string
	out         *tabwriter.Writer
}

// report prints a figure, what it must reach, and how it was measured.
func (b *bench) report(figure, value, target string) {
	_, _ = fmt.Fprintf(b.out, "%s\t%s\t%s\n", figure, value, target)
}

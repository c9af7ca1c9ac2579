// Command belfry is the whole of Belfry: server, migrations, tokens, and a private Postgres for trying it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // time zones are checked on machines that have no database of them too
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// environment is what a command may use of the process around it.
type environment struct {
	lookup         func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command is a subcommand.
type command struct {
	name, summary string
	run           func(ctx context.Context, env environment, args []string) error
}

func commands() []command {
	return []command{
		{"dev", "serve with a private Postgres and demo data", runDev},
		{"serve", "serve a database", runServe},
		{"migrate", "up: bring the database's schema up to date; status: show its steps", runMigrate},
		{"token", "print a JWT for a user", runToken},
		{"push", "ls: what became of a user's pushes; show: all about one", runPushLedger},
		{"prune", "remove what is old, once; --dry-run: show what would go", runPrune},
		{"export", "write everything of a user as JSON lines", runExport},
		{"import", "read JSON lines: an export, or an existing system's history", runImport},
		{"expo-sim", "simulate Expo's push API, for trying pushes without it", runExpoSim},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends ctx and gives the signals back, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := tuneRuntime(os.LookupEnv); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "belfry: memory limit: %v\n", err)
	}
	os.Exit(run(ctx, environment{os.LookupEnv, os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

func run(ctx context.Context, env environment, args []string) int {
	if len(args) == 0 {
		usage(env.stderr)
		return exitUsage
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(env.stdout)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, env, args[1:])
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			_, _ = fmt.Fprintf(env.stderr, "belfry %s: %v\n", c.name, err)
			return exitUsage
		}
		_, _ = fmt.Fprintf(env.stderr, "belfry %s: %v\n", c.name, err)
		return exitFailure
	}
	_, _ = fmt.Fprintf(env.stderr, "belfry: no command %q\n\n", args[0])
	usage(env.stderr)
	return exitUsage
}

func usage(w io.Writer) {
	_, _ = fmt.Fprint(w, "Belfry is a notification inbox over PostgreSQL, spoken to in GraphQL.\n\nUsage: belfry COMMAND [flags]\n\n")
	for _, c := range commands() {
		_, _ = fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprint(w, "\nbelfry COMMAND -h lists a command's flags. Each has an environment variable: --database-url is BELFRY_DATABASE_URL.\n")
}

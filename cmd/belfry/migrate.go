package main

import (
	"context"
	"fmt"

	"belfry/storage"
)

func runMigrate(ctx context.Context, env environment, args []string) error {
	f := newFlags("migrate", env)
	url := f.String("database-url", "", "the database, as postgres://user:password@host/name (required)")
	rest, err := f.parseAround(args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || rest[0] != "up" && rest[0] != "status" {
		return fmt.Errorf("%w: belfry migrate up or belfry migrate status", errUsage)
	}
	if *url == "" {
		return fmt.Errorf("%w: database-url is required", errUsage)
	}
	if rest[0] == "up" {
		return migrateUp(ctx, env, *url)
	}
	steps, err := storage.Migrations(ctx, *url)
	if err != nil {
		return err
	}
	for _, s := range steps {
		state := "pending"
		if s.IsApplied {
			state = "applied"
		}
		_, _ = fmt.Fprintf(env.stdout, "%-8s %s\n", state, s.Name)
	}
	return nil
}

func migrateUp(ctx context.Context, env environment, url string) error {
	names, err := storage.Migrate(ctx, url)
	if err != nil {
		return err
	}
	for _, n := range names {
		_, _ = fmt.Fprintf(env.stdout, "applied  %s\n", n)
	}
	if len(names) == 0 {
		_, _ = fmt.Fprintln(env.stdout, "up to date")
	}
	return nil
}

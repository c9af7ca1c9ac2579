package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"belfry/archive"
	"belfry/inbox"
	"belfry/storage"
)

// runExport writes everything of a user as JSON lines.
func runExport(ctx context.Context, env environment, args []string) error {
	f := newFlags("export", env)
	url := f.String("database-url", "", "the database, as postgres://user:password@host/name (required)")
	user := f.String("user", "", "whose data (required)")
	out := f.String("out", "", "a file to make, readable by you alone; standard output where absent")
	rest, err := f.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || *url == "" || !inbox.ValidUserID(*user) {
		return fmt.Errorf("%w: belfry export --user ID [--out FILE], with --database-url", errUsage)
	}
	store, err := openStore(ctx, storage.Config{URL: *url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	lines := 0
	export := func(w io.Writer) error {
		lines, err = exportUser(ctx, store, *user, w)
		return err
	}
	if *out == "" {
		err = export(env.stdout)
	} else {
		err = createFile(*out, export)
	}
	switch {
	case err != nil:
		return err
	case lines == 0:
		_, _ = fmt.Fprintln(env.stderr, "belfry export: nothing is stored of this user")
	default:
		_, _ = fmt.Fprintf(env.stderr, "lines exported: %s\n", grouped(lines))
	}
	return nil
}

// openStore opens a database whose schema is up to date.
func openStore(ctx context.Context, cfg storage.Config) (*storage.Store, error) {
	store, err := storage.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := store.CheckSchema(ctx); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// exportUser writes a user's lines and returns how many there are.
func exportUser(ctx context.Context, store *storage.Store, userID string, w io.Writer) (lines int, err error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	encoder := archive.NewEncoder(buffered)
	err = store.Export(ctx, userID, func(r inbox.Record) error {
		lines++
		return encoder.Encode(r)
	})
	return lines, errors.Join(err, buffered.Flush())
}

// createFile makes a file that was not there, for its owner alone, and has it written. What was not written to its
// end is removed.
func createFile(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Sync(), file.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

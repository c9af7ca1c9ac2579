package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/archive"
	"belfry/inbox"
	"belfry/storage"
)

// quickLines is enough to see that an import works.
const quickLines = 50_000

// importRates measures a bulk import of an existing system's history, and the same import once more, which finds
// everything there. Of ten lines eight are notifications with a runId, one is an activity and one an item.
func (b *bench) importRates(ctx context.Context) error {
	lines := b.lines
	if b.rounds == 1 {
		lines = min(lines, quickLines)
	}
	path, err := writeHistory(lines)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	parse, err := importFile(ctx, path, []importWriter{discard, discard})
	if err != nil {
		return err
	}
	var first, again []float64
	for range b.rounds {
		rates, err := b.importTwice(ctx, path)
		if err != nil {
			return err
		}
		first, again = append(first, rates[0]), append(again, rates[1])
	}
	slices.Sort(first)
	slices.Sort(again)
	b.report(fmt.Sprintf("import of %d lines", lines), fmt.Sprintf("%.0f a second", first[len(first)/2]),
		fmt.Sprintf("aim at 100000 a second on two cores; here %d", runtime.NumCPU()))
	b.report("import of the same lines again", fmt.Sprintf("%.0f a second", again[len(again)/2]), "")
	b.report("import that writes nothing: read, parse, check, hash", fmt.Sprintf("%.0f a second", parse), "")
	return nil
}

type importWriter = func(context.Context, []inbox.Record) (inbox.ImportOutcome, error)

func discard(context.Context, []inbox.Record) (inbox.ImportOutcome, error) {
	return inbox.ImportOutcome{}, nil
}

// importTwice imports a file into an empty database, and again, and returns the lines a second of both.
func (b *bench) importTwice(ctx context.Context, path string) (rates [2]float64, err error) {
	conn, err := pgx.Connect(ctx, b.databaseURL)
	if err != nil {
		return rates, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, `TRUNCATE notifications, claims, activities, items, item_tags, push_queue`); err != nil {
		return rates, err
	}
	if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil {
		return rates, err
	}
	store, err := storage.Open(ctx, storage.Config{URL: b.databaseURL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return rates, err
	}
	defer store.Close()
	for i := range rates {
		writers := []importWriter{store.NewImporter().Import, store.NewImporter().Import}
		if rates[i], err = importFile(ctx, path, writers); err != nil {
			return rates, err
		}
	}
	return rates, nil
}

// importFile returns how many lines a second were imported.
func importFile(ctx context.Context, path string, writers []importWriter) (float64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	began := time.Now()
	sum, err := archive.Import(ctx, file, archive.Config{
		Writers: writers, Progress: func(archive.Summary) {},
		Fault: func(number int, err error) { fmt.Fprintln(os.Stderr, number, err) },
	})
	if err == nil && sum.Bad > 0 {
		err = fmt.Errorf("%d lines were bad", sum.Bad)
	}
	return float64(sum.Total()) / time.Since(began).Seconds(), err
}

// writeHistory makes a file of lines, about 300 bytes each, of 20,000 users over three years.
func writeHistory(lines int) (path string, err error) {
	file, err := os.CreateTemp("", "belfry-history-*.jsonl")
	if err != nil {
		return "", err
	}
	w := bufio.NewWriter(file)
	began := time.Now().Add(-3 * 365 * 24 * time.Hour)
	step := time.Since(began) / time.Duration(lines)
	for i := range lines {
		user, at := fmt.Sprintf("user-%d", i*7919%20_000), began.Add(time.Duration(i)*step).UTC().Format(inbox.TimeLayout)
		writeLine(w, i, user, at)
	}
	err = errors.Join(w.Flush(), file.Close())
	return file.Name(), err
}

func writeLine(w io.Writer, i int, user, at string) {
	switch i % 10 {
	case 8:
		_, _ = fmt.Fprintf(w, `{"type":"activity","userId":%q,"verb":"pull_request.merged","object":"belfry#%d",`+
			`"url":"https://git.example.com/belfry/pulls/%d","createdAt":%q,"idempotencyKey":"merge-%d"}`+"\n", user, i, i, at, i)
	case 9:
		_, _ = fmt.Fprintf(w, `{"type":"item","userId":%q,"itemId":"document-%d","title":"The minutes of meeting %d",`+
			`"url":"https://docs.example.com/%d","tags":["minutes","team-%d"],"createdAt":%q}`+"\n", user, i, i, i, i%50, at)
	default:
		read := ""
		if i%3 > 0 {
			read = fmt.Sprintf(`,"readAt":%q`, at)
		}
		_, _ = fmt.Fprintf(w, `{"type":"notification","userId":%q,"runId":"comment-%d","kind":"comment.created",`+
			`"category":"comments","actor":"user-%d","title":"Somebody has commented on what you wrote",`+
			`"url":"https://git.example.com/belfry/issues/%d","createdAt":%q%s}`+"\n", user, i, i%977, i, at, read)
	}
}

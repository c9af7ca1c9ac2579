package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"belfry/archive"
	"belfry/inbox"
	"belfry/live"
	"belfry/storage"
)

// maxImportWriters is more than a machine of today can keep busy.
const maxImportWriters = 32

// runImport reads JSON lines into a database.
func runImport(ctx context.Context, env environment, args []string) error {
	f := newFlags("import", env)
	url := f.String("database-url", "", "the database, as postgres://user:password@host/name (required)")
	shown := f.Int("max-errors", 100, "the most bad lines to print, 0 or more; all are counted")
	writers := f.Int("writers", 2, "connections that write, 1 to 32")
	files, err := f.parseAround(args)
	if err != nil {
		return err
	}
	if len(files) != 1 || *url == "" || *shown < 0 || *writers < 1 || *writers > maxImportWriters {
		return fmt.Errorf("%w: belfry import FILE, or - for standard input, with --database-url", errUsage)
	}
	in := env.stdin
	if files[0] != "-" {
		file, err := os.Open(files[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	store, err := openStore(ctx, storage.Config{URL: *url, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer store.Close()
	return importLines(ctx, store, in, *writers, &importReport{w: env.stderr, shown: *shown, began: time.Now()})
}

// importLines imports what there is to be read.
func importLines(ctx context.Context, store *storage.Store, in io.Reader, writers int, report *importReport) error {
	cfg := archive.Config{Fault: report.fault, Progress: report.progress}
	sender := rand.Text()
	for range writers {
		cfg.Writers = append(cfg.Writers, importWriter(store, sender))
	}
	sum, err := archive.Import(ctx, in, cfg)
	report.end(sum)
	if err == nil && sum.Bad > 0 {
		err = fmt.Errorf("bad lines: %s; all others are imported", grouped(sum.Bad))
	}
	return err
}

// importWriter returns how one of several writers writes, and tells servers whose inboxes have changed.
func importWriter(store *storage.Store, sender string) func(context.Context, []inbox.Record) (inbox.ImportOutcome, error) {
	importer := store.NewImporter()
	return func(ctx context.Context, records []inbox.Record) (inbox.ImportOutcome, error) {
		out, err := importer.Import(ctx, records)
		if err == nil && out.New > 0 {
			// A hint that is lost costs time alone: servers look at all who are connected every 30 s.
			_ = store.Notify(ctx, live.Payloads(sender, owners(records), storage.HintLimit))
		}
		return out, err
	}
}

// owners returns whose inboxes some records are about, once each.
func owners(records []inbox.Record) []string {
	var users []string
	seen := map[string]bool{}
	for _, r := range records {
		switch r.(type) {
		case *inbox.NotificationRecord, *inbox.SeenRecord:
		default:
			continue
		}
		if user := r.Owner(); !seen[user] {
			seen[user] = true
			users = append(users, user)
		}
	}
	return users
}

// importReport tells an operator how an import goes on.
type importReport struct {
	w     io.Writer
	shown int // bad lines that are printed
	began time.Time

	bad    int       // lines so far
	drawn  time.Time // when the progress line was drawn last, zero where none is
	isLine bool      // the progress line is on the screen
}

// fault prints a bad line, unless there were too many.
func (r *importReport) fault(number int, err error) {
	if r.bad++; r.bad <= r.shown {
		r.clear()
		_, _ = fmt.Fprintf(r.w, "line %d: %v\n", number, err)
	}
}

// progressInterval is the least time between two progress lines.
const progressInterval = 200 * time.Millisecond

// progress draws a line that the next one replaces, on a terminal alone.
func (r *importReport) progress(sum archive.Summary) {
	if !isTerminal(r.w) || time.Since(r.drawn) < progressInterval {
		return
	}
	r.drawn, r.isLine = time.Now(), true
	_, _ = fmt.Fprintf(r.w, "\r\x1b[K%s", r.summary("importing", sum))
}

func (r *importReport) clear() {
	if r.isLine {
		_, _ = io.WriteString(r.w, "\r\x1b[K")
		r.isLine = false
	}
}

// end prints what became of all lines.
func (r *importReport) end(sum archive.Summary) {
	r.clear()
	if more := r.bad - r.shown; more > 0 {
		_, _ = fmt.Fprintf(r.w, "and %s more bad lines\n", grouped(more))
	}
	_, _ = fmt.Fprintln(r.w, r.summary("imported", sum))
}

func (r *importReport) summary(verb string, sum archive.Summary) string {
	return fmt.Sprintf("%s %s (%s new, %s already there, %s bad) in %.1f s",
		verb, grouped(sum.Total()), grouped(sum.New), grouped(sum.There), grouped(sum.Bad), time.Since(r.began).Seconds())
}

// isTerminal reports whether a person may be watching.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// grouped writes a count with commas between its thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

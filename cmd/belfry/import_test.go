package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"belfry/storage"
	"belfry/storage/storagetest"
)

// writeLines makes a file of a test's.
func writeLines(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// historyLine is the event of client.dispatch as an existing system tells it.
func historyLine(user, run string) string {
	return fmt.Sprintf(`{"type":"notification","userId":%q,"runId":%q,"kind":"test","category":"tests","title":"Something happened",`+
		`"createdAt":"2026-01-02T03:04:05Z"}`, user, run)
}

// Bad lines of every sort are told by their numbers, and all others are imported.
func TestImportOfHostileLines(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	item := func(user, tags string) string {
		return fmt.Sprintf(`{"type":"item","userId":%q,"itemId":"1","title":"t","tags":[%s]}`, user, tags)
	}
	lines := []string{
		"\ufeff" + historyLine("ada", "1"),
		historyLine("ada", "2") + "\r",
		"",
		item("ada", `"a"`),
		item("bela", `"a"`),
		item("chen", `"`+strings.Join(manyTexts(51), `","`)+`"`),
		item("dara", `""`),
		item("edo", `"`+strings.Repeat("x", 10<<10)+`"`),
		strings.Repeat(`{"type":"item",`, 700_000),
		"{\"type\":\"notification\",\"userId\":\"\xff\"}",
		`{"type":"account","userId":"ada","displayName":"Ada","colour":"red"}`,
		`{"type":"account","userId":"ada","displayName":"Ada"}`,
		historyLine("ada", "1"),
		strings.Replace(historyLine("ada", "1"), "happened", "changed", 1),
		historyLine("ada", "3")[:50],
	}
	got := complete(t, nil, "import", writeLines(t, strings.Join(lines, "\n")), "--database-url", databaseURL)
	want := `line 6: tags: has 51 tags, at most 50 are allowed
line 7: tags.0: a tag must not be empty
line 8: tags.0: a tag has at most 64 characters
line 9: is longer than 1048576 bytes
line 10: is not UTF-8
line 11: colour: there is no such field
line 14: the key was used before for other content
line 15: ends within its JSON: was the file cut off?
imported 14 (5 new, 1 already there, 8 bad) in TIME
belfry import: bad lines: 8; all others are imported
`
	if diff := cmp.Diff(want, regexp.MustCompile(`[\d.]+ s\n`).ReplaceAllString(got.stderr, "TIME\n")); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	got.check(t, exitFailure)
	few := complete(t, nil, "import", writeLines(t, strings.Repeat("{}\n", 9)), "--database-url", databaseURL, "--max-errors", "2")
	few.check(t, exitFailure, "line 2: type: is required\nand 7 more bad lines\n", "9 bad")
	if strings.Contains(few.stderr, "line 3") {
		t.Errorf("more bad lines than asked for: %s", few.stderr)
	}
}

func manyTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	return texts
}

// manyLines are lines of 25 users, the last of which is of run-last.
func manyLines() (text string, n int) {
	const lines = 25_000
	var b strings.Builder
	for i := range lines - 1 {
		b.WriteString(historyLine(fmt.Sprint("user", i%25), fmt.Sprint("run-", i)) + "\n")
	}
	b.WriteString(historyLine("user0", "run-last") + "\n")
	return b.String(), lines
}

// awaitClaim waits until a statement waits for the end of the transaction that holds a claim. awaitHeld would be content
// with two writers that wait for each other to make a table longer.
func awaitClaim(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	eventually(t, "an import waits for a claim", func() bool {
		return count(t, conn, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'belfry' AND wait_event = 'transactionid'`) > 0
	})
}

// halfWritten reports rows that only half of an import has written.
const halfWritten = `SELECT count(*) FROM claims c FULL JOIN notifications n
	ON (c.user_id, c.subject_at, c.subject_id) = (n.user_id, n.created_at, n.id) WHERE c.user_id IS NULL OR n.user_id IS NULL`

// An import that is killed in the middle of a transaction has written nothing by halves, and the same import once
// more ends as if it had been the first.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	conn := connect(t, databaseURL)
	text, lines := manyLines()
	file := writeLines(t, text)
	release := hold(t, databaseURL, "run-last", "user0")
	p := start(t, nil, "import", file, "--database-url", databaseURL)
	awaitClaim(t, conn)
	p.kill()
	release()
	const backends = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'belfry'`
	eventually(t, "Postgres knows that the import is gone", func() bool { return count(t, conn, backends) == 0 })
	if n := count(t, conn, halfWritten); n != 0 {
		t.Errorf("%d rows are half written", n)
	}
	before := count(t, conn, `SELECT count(*) FROM notifications`)
	if before == 0 || before >= lines {
		t.Errorf("%d lines are in, want some", before)
	}
	complete(t, nil, "import", file, "--database-url", databaseURL).check(t, 0,
		fmt.Sprintf("imported 25,000 (%s new, %s already there, 0 bad)", grouped(lines-before), grouped(before)))
	if n := count(t, conn, halfWritten); n != 0 {
		t.Errorf("%d rows are half written", n)
	}
	if n := count(t, conn, `SELECT count(*) FROM notifications`); n != lines {
		t.Errorf("%d notifications, want %d", n, lines)
	}
}

// An import whose database goes says up to where everything is in.
func TestImportWithoutDatabase(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	conn := connect(t, databaseURL)
	text, _ := manyLines()
	file := writeLines(t, text)
	release := hold(t, databaseURL, "run-last", "user0")
	p := start(t, nil, "import", file, "--database-url", databaseURL)
	awaitClaim(t, conn)
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'belfry'`); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	match := regexp.MustCompile(`everything up to line (\d+) is imported, run it again for the rest: the database does not answer`).
		FindStringSubmatch(p.stderr.String())
	if match == nil || !strings.Contains(p.stderr.String(), "0 bad") {
		t.Fatalf("stderr: %s", p.stderr)
	}
	release()
	complete(t, nil, "import", file, "--database-url", databaseURL).check(t, 0, "imported 25,000 (", "0 bad")
	if n := count(t, conn, halfWritten); n != 0 {
		t.Errorf("%d rows are half written", n)
	}
}

// Servers hear of what was imported.
func TestImportTellsServers(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	p := serve(t, databaseURL, "--drain-delay", "0s")
	counts := badges(t, p, "ada")
	wantBadge(t, "at first", counts, 0)
	complete(t, nil, "import", writeLines(t, historyLine("ada", "1")), "--database-url", databaseURL).check(t, 0, "1 new")
	wantBadge(t, "after the import", counts, 1)
}

func TestImportAndExportRefuse(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	file := writeLines(t, historyLine("ada", "1"))
	tests := []struct {
		name    string
		args    []string
		code    int
		message string
	}{
		{"no file", []string{"import", "--database-url", databaseURL}, exitUsage, "belfry import FILE"},
		{"two files", []string{"import", "a", "b", "--database-url", databaseURL}, exitUsage, "belfry import FILE"},
		{"no database", []string{"import", file}, exitUsage, "--database-url"},
		{"no writers", []string{"import", file, "--database-url", databaseURL, "--writers", "0"}, exitUsage, "belfry import FILE"},
		{"no such file", []string{"import", file + "x", "--database-url", databaseURL}, exitFailure, "no such file"},
		{"a directory", []string{"import", filepath.Dir(file), "--database-url", databaseURL}, exitFailure, "is a directory"},
		{"no schema", []string{"import", file, "--database-url", emptyDatabase(t)}, exitFailure, "run belfry migrate up"},
		{"no user", []string{"export", "--database-url", databaseURL}, exitUsage, "belfry export --user ID"},
		{"too much", []string{"export", "ada", "--user", "ada", "--database-url", databaseURL}, exitUsage, "belfry export --user ID"},
		{"nobody", []string{"export", "--user", "nobody", "--database-url", databaseURL}, 0, "nothing is stored of this user"},
		{"over a file", []string{"export", "--user", "ada", "--out", file, "--database-url", databaseURL}, exitFailure, "file exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := complete(t, nil, tt.args...)
			got.check(t, tt.code, tt.message)
			if got.stdout != "" {
				t.Errorf("stdout %q", got.stdout)
			}
		})
	}
}

// An export that can't be written to its end is an error, and no file is left that looks like one.
func TestExportIsInterrupted(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	text, _ := manyLines()
	complete(t, nil, "import", writeLines(t, text), "--database-url", databaseURL).check(t, 0)
	store, err := openStore(t.Context(), storage.Config{URL: databaseURL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	reader, broken, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broken.Close() }()
	_ = reader.Close()
	if _, err := exportUser(t.Context(), store, "user1", broken); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got error %v, want %v", err, syscall.EPIPE)
	}
	path := filepath.Join(t.TempDir(), "export")
	full := errors.New("the disk is full")
	if err := createFile(path, func(io.Writer) error { return full }); !errors.Is(err, full) || !isAbsent(path) {
		t.Errorf("got error %v, and the file is absent: %v", err, isAbsent(path))
	}
}

// The lines that the documentation shows are good.
func TestImportOfTheDocumentation(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	_, rest, _ := strings.Cut(readFile(t, "../../doc/import.md"), "```json\n")
	lines, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("doc/import.md shows no lines")
	}
	file, n := writeLines(t, lines), strings.Count(lines, "\n")
	complete(t, nil, "import", file, "--database-url", databaseURL).
		check(t, 0, fmt.Sprintf("imported %d (%d new, 0 already there, 0 bad)", n, n))
	complete(t, nil, "import", file, "--database-url", databaseURL).
		check(t, 0, fmt.Sprintf("imported %d (0 new, %d already there, 0 bad)", n, n))
}

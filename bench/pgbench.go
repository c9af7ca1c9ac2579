package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// pgbench runs a script of statements from as many connections as a load has, and nothing else besides.
type pgbench struct {
	program, script string
	// variables are name=value, for the script.
	variables []string
}

// findPgbench looks where Postgres's programs are; the error is errNoPeer where there is none.
func findPgbench() (string, error) {
	places := []string{filepath.Join(os.Getenv("PG_BINDIR"), "pgbench")}
	if path, err := exec.LookPath("pgbench"); err == nil {
		places = append(places, path)
	}
	usual, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	slices.Reverse(usual) // the newest first
	for _, p := range append(places, usual...) {
		if _, err := os.Stat(p); err == nil && filepath.IsAbs(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("no pgbench: %w", errNoPeer)
}

// newPgbench writes a script into the stage's directory.
func (st *stage) newPgbench(name string, script string, variables []string) (*pgbench, error) {
	program, err := findPgbench()
	if err != nil {
		return nil, err
	}
	p := &pgbench{program, filepath.Join(st.dir, name+".sql"), variables}
	return p, os.WriteFile(p.script, []byte(script), 0o600)
}

var (
	transactionsPerSecond = regexp.MustCompile(`(?m)^tps = ([0-9.]+) `)
	failedTransactions    = regexp.MustCompile(`(?m)^number of failed transactions: [1-9]`)
)

// run returns the transactions a second over so many seconds.
func (p *pgbench) run(ctx context.Context, databaseURL string, seconds int) (float64, error) {
	args := []string{
		"--no-vacuum", "--protocol=prepared", "--client=" + strconv.Itoa(connections), "--time=" + strconv.Itoa(seconds), "--file=" + p.script,
	}
	for _, v := range p.variables {
		args = append(args, "--define="+v)
	}
	out, err := exec.CommandContext(ctx, p.program, append(args, databaseURL)...).CombinedOutput()
	match := transactionsPerSecond.FindSubmatch(out)
	if err == nil && (match == nil || failedTransactions.Match(out)) {
		err = errors.New("no rate, or failed transactions")
	}
	if err != nil {
		return 0, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}

// pagePgbench returns what reads pages as Belfry does.
func (st *stage) pagePgbench(ctx context.Context) (*pgbench, error) {
	statements, err := pageStatements(ctx, st.url, sampleUser)
	if err != nil {
		return nil, err
	}
	script, variables, err := st.pageScript(statements)
	if err != nil {
		return nil, err
	}
	return st.newPgbench("page", script, variables)
}

// pageScript returns a script that reads a random user's page by the statements, in one round trip as Belfry
// does, and its variables. What Belfry passes as a parameter is one here too, wherever that changes the plan.
func (st *stage) pageScript(statements []statement) (script string, variables []string, err error) {
	var text strings.Builder
	fmt.Fprintf(&text, "\\set u random(0, %d)\n\\startpipeline\n", st.users-1)
	for _, s := range statements {
		sql, more, err := s.forPgbench(func(i int) string {
			switch a := s.args[i].(type) {
			case string:
				if a == sampleUser {
					return `('user-' || :u::text)`
				}
			case []string:
				if slices.Contains(a, sampleUser) {
					return `ARRAY['user-' || :u::text]`
				}
			}
			return ""
		})
		if err != nil {
			return "", nil, err
		}
		text.WriteString(sql)
		variables = append(variables, more...)
	}
	text.WriteString("\\endpipeline\n")
	return text.String(), variables, nil
}

// dispatchScript returns a script that makes a new dispatch to a random user.
func (st *stage) dispatchScript(s statement) (script string, variables []string, err error) {
	sql, variables, err := s.forPgbench(func(i int) string {
		switch s.args[i].(type) {
		case []string:
			return `ARRAY['user-' || :u::text]`
		case []pgtype.UUID:
			return `ARRAY[gen_random_uuid()]`
		}
		if i == 2 { // the key without its recipient
			return `('pgbench-' || :run::text || ':')`
		}
		return ""
	})
	return fmt.Sprintf("\\set u random(0, %d)\n\\set run random(1, 1000000000000000000)\n", st.users-1) + sql, variables, err
}

var (
	parameter = regexp.MustCompile(`\$(\d+)`)
	colon     = regexp.MustCompile(`:([A-Za-z_])`)
	comment   = regexp.MustCompile(`(?m)^--.*\n`)
)

// forPgbench writes the statement for a script: with what special gives in place of an argument, variables
// for flags and numbers, and literals for the rest.
func (s statement) forPgbench(special func(i int) string) (sql string, variables []string, err error) {
	texts := make([]string, len(s.args))
	for i, a := range s.args {
		if texts[i] = special(i); texts[i] != "" {
			continue
		}
		switch a := a.(type) {
		case bool, int:
			name := fmt.Sprintf("%s%d", strings.ToLower(s.name), i+1)
			variables = append(variables, fmt.Sprintf("%s=%v", name, a))
			texts[i] = ":" + name
		default:
			if texts[i], err = literal(a); err != nil {
				return "", nil, fmt.Errorf("%s: $%d: %w", s.name, i+1, err)
			}
		}
	}
	sql = parameter.ReplaceAllStringFunc(comment.ReplaceAllString(s.sql, ""), func(p string) string {
		i, _ := strconv.Atoi(p[1:])
		return texts[i-1]
	})
	return sql + ";\n", variables, nil
}

// literal writes an argument as SQL.
func literal(a any) (string, error) {
	quote := func(s string) string {
		// pgbench finds variables in literals too.
		return "('" + colon.ReplaceAllString(strings.ReplaceAll(s, "'", "''"), ":' || '$1") + "')"
	}
	switch a := a.(type) {
	case nil:
		return "NULL", nil
	case string:
		return quote(a), nil
	case *string:
		if a == nil {
			return "NULL", nil
		}
		return quote(*a), nil
	case []string:
		if a == nil {
			return "NULL", nil
		}
	case []byte:
		if len(a) == 0 {
			return "NULL", nil
		}
		return `'\x` + hex.EncodeToString(a) + "'", nil
	case pgtype.Timestamptz:
		switch {
		case !a.Valid:
			return "NULL", nil
		case a.InfinityModifier != pgtype.Finite:
			return quote(a.InfinityModifier.String()), nil
		}
		return quote(a.Time.Format("2006-01-02T15:04:05.999999Z07:00")), nil
	case pgtype.UUID:
		return quote(a.String()), nil
	}
	return "", fmt.Errorf("no literal for %T", a)
}

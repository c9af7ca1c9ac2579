package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// What lies between these lines of a page is written anew by -write.
const (
	figuresBegin = "<!-- figures -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// writePage puts the figures, and what they were measured on, into a page.
func (b *bench) writePage(ctx context.Context, path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, hasBegin := bytes.Cut(page, []byte(figuresBegin))
	_, after, hasEnd := bytes.Cut(rest, []byte(figuresEnd))
	if !hasBegin || !hasEnd {
		return fmt.Errorf("%s has no lines %q and %q", path, figuresBegin, figuresEnd)
	}
	machine, err := b.machine(ctx)
	if err != nil {
		return err
	}
	command := fmt.Sprintf("make bench ITERATIONS=%d SECONDS_PER_ROUND=%d", b.rounds, b.seconds)
	text := fmt.Sprintf("`%s` on %s, %s.\n\n%s", command, time.Now().UTC().Format(time.DateOnly), machine, b.markdown())
	return os.WriteFile(path, bytes.Join([][]byte{before, []byte(figuresBegin), []byte(text), []byte(figuresEnd), after}, nil), 0o600)
}

// machine says in a line what the figures were measured on.
func (b *bench) machine(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, b.databaseURL)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var postgres string
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&postgres); err != nil {
		return "", err
	}
	words := []string{
		processor(), fmt.Sprintf("%d cores", runtime.NumCPU()), system(ctx), runtime.Version(), "PostgreSQL " + postgres,
	}
	if node, version, err := peerVersions(ctx); err == nil {
		words = append(words, "Node "+node, "PostGraphile "+version)
	}
	return strings.Join(words, ", "), nil
}

// processor returns the model's name, as Linux tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, _ := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(line, " \t:")
}

// system returns the kernel's name and release.
func system(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(out))
}

// errNoPeer says that something to compare with is not to be had on this machine, which is no failure.
var errNoPeer = errors.New("not on this machine")

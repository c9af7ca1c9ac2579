package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpu returns what a server's process has used so far, all of its threads together.
func (s *server) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may hold spaces. See proc(5): utime and stime are the 12th and
	// 13th field behind it, in hundredths of a second on every Linux.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, errors.New("proc stat: too few fields")
	}
	user, err := strconv.Atoi(string(fields[11]))
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// startListening starts a program that prints the address it serves on as its first line.
func startListening(cmd *exec.Cmd) (*server, error) {
	s := &server{cmd: cmd}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	s.address = strings.TrimSpace(line)
	return s, nil
}

// freeAddress returns an address that nobody serves on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// startBelfry starts belfry serve as its users do: tokens are verified, limits hold, and its log of requests
// goes to a file. It returns when the server is ready.
func (st *stage) startBelfry(ctx context.Context, env []string, args ...string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(st.dir, "belfry-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	cmd := exec.CommandContext(ctx, st.binary, append([]string{"serve", "--listen", address}, args...)...)
	cmd.Env = append(append(os.Environ(), "BELFRY_DATABASE_URL="+st.url, "BELFRY_JWT_SECRET="+secret), env...)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, address: address}
	if err := s.awaitReady(ctx); err != nil {
		s.stop()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("belfry serve: %w: %.2000s", err, text)
	}
	return s, nil
}

// awaitReady asks /readyz every two milliseconds until the answer is yes.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.New("it was not ready in time")
		}
	}
}

// starts measures how long belfry serve takes until it is ready.
func (b *bench) starts(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	var times []float64
	for range 3 * b.rounds {
		began := time.Now()
		s, err := st.startBelfry(ctx, nil)
		if err != nil {
			return err
		}
		times = append(times, milliseconds(time.Since(began)))
		s.stop()
	}
	b.measured("start of belfry serve to ready, on a migrated database", "%.0f ms", times, atMost(300), "")
	return nil
}

package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"
)

// startNATS builds and starts a real nats-server and returns its URL and how to end it.
func startNATS(ctx context.Context) (url string, stop func(), err error) {
	out, err := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/nats/go.mod", "-n", "nats-server").Output()
	if err != nil {
		return "", nil, fmt.Errorf("build nats-server (run from the root of the repository): %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	host, port, _ := net.SplitHostPort(address)
	cmd := exec.CommandContext(ctx, strings.TrimSpace(string(out)), "--addr", host, "--port", port)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 500 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return "nats://" + address, stop, nil
		}
		<-ticker.C
	}
	stop()
	return "", nil, fmt.Errorf("nats-server did not come up")
}

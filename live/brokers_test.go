package live_test

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"belfry/live"
	"belfry/storage"
)

// brokers are the ways in which processes tell each other; breakIt breaks the connection of all and lets it
// come back.
type brokers struct {
	connect func(*storage.Store, *slog.Logger) live.Broker
	breakIt func(t *testing.T)
}

func postgresBrokers(t *testing.T, databaseURL string) brokers {
	t.Helper()
	return brokers{
		connect: func(s *storage.Store, logger *slog.Logger) live.Broker {
			return live.NewPostgres(s, storage.HintLimit, logger)
		},
		breakIt: func(t *testing.T) {
			t.Helper()
			conn, err := pgx.Connect(t.Context(), databaseURL)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(t.Context()) }()
			var killed int
			err = conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			  WHERE datname = current_database() AND query LIKE '%LISTEN belfry_hint%' AND pid <> pg_backend_pid()`).Scan(&killed)
			if err != nil || killed == 0 {
				t.Fatalf("killed %d listeners: %v", killed, err)
			}
		},
	}
}

func natsBrokers(t *testing.T) brokers {
	t.Helper()
	server := startNATS(t)
	return brokers{
		connect: func(_ *storage.Store, logger *slog.Logger) live.Broker {
			b, err := live.OpenNATS(server.url, logger)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		breakIt: func(t *testing.T) {
			t.Helper()
			server.kill(t)
			server.start(t)
		},
	}
}

// natsServer is a real one.
type natsServer struct {
	binary, address, url string
	cmd                  *exec.Cmd
}

func startNATS(t *testing.T) *natsServer {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../tools/nats/go.mod", "-n", "nats-server").Output()
	if err != nil {
		t.Fatalf("building nats-server: %v", err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &natsServer{binary: strings.TrimSpace(string(out)), address: l.Addr().String()}
	s.url = "nats://" + s.address
	_ = l.Close()
	s.start(t)
	t.Cleanup(func() { s.kill(t) })
	return s
}

func (s *natsServer) start(t *testing.T) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	s.cmd = exec.Command(s.binary, "--addr", host, "--port", port)
	s.cmd.Stderr = &bytes.Buffer{}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "nats-server", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

func (s *natsServer) kill(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil && !os.IsPermission(err) {
		t.Logf("kill nats-server: %v", err)
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

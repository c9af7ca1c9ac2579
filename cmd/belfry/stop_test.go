package main

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"belfry/storage/storagetest"
)

var stoppingLine = regexp.MustCompile(`msg"?[=:]"?(stopping)`)

// inFlight is a server with a dispatch that can't go on.
type inFlight struct {
	*process
	client  *client
	release func()     // lets the dispatch go on
	done    chan error // gets what became of the dispatch
}

// holdOne starts a server and holds a dispatch of it.
func holdOne(t *testing.T, args ...string) *inFlight {
	t.Helper()
	databaseURL := storagetest.URL(t)
	release := hold(t, databaseURL, "run", "ada")
	p := serve(t, databaseURL, args...)
	f := &inFlight{process: p, client: backendOf(t, p), release: release, done: make(chan error, 1)}
	go func() {
		results, err := f.client.dispatch(t.Context(), "run", "ada")
		if err == nil && (len(results) != 1 || results[0].Status != "CREATED") {
			t.Errorf("the request in flight: %+v", results)
		}
		f.done <- err
	}()
	awaitHeld(t, databaseURL)
	return f
}

// A stop takes no new connections and lets the request in flight finish.
func TestStopFinishesRequest(t *testing.T) {
	t.Parallel()
	f := holdOne(t)
	f.signal(syscall.SIGTERM)
	f.waitFor(f.stderr, stoppingLine)
	eventually(t, "no new connections", func() bool {
		_, _, err := newClient(t, f.client.base, "").get(t.Context(), "/healthz")
		return err != nil
	})
	select {
	case err := <-f.done:
		t.Fatalf("the request in flight was cut off: %v", err)
	case <-f.exited:
		t.Fatal("ended with a request in flight")
	default:
	}
	f.release()
	if err := <-f.done; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if code := f.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A load balancer that asks while the server drains is told, and requests that come meanwhile are served.
func TestReadyWhileStopping(t *testing.T) {
	t.Parallel()
	p := serve(t, storagetest.URL(t), "--drain-delay", "3s")
	c := backendOf(t, p)
	status := func(path string) int {
		code, _, err := c.get(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	if got := status("/readyz"); got != http.StatusOK {
		t.Errorf("readyz before: got %d", got)
	}
	p.signal(syscall.SIGTERM)
	eventually(t, "readyz says 503", func() bool { return status("/readyz") == http.StatusServiceUnavailable })
	if got := status("/healthz"); got != http.StatusOK {
		t.Errorf("healthz: got %d", got)
	}
	if results, err := c.dispatch(t.Context(), "late", "ada"); err != nil || len(results) != 1 {
		t.Errorf("a dispatch while it drains: %+v, %v", results, err)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestStopTwice(t *testing.T) {
	t.Parallel()
	f := holdOne(t, "--stop-timeout=10m")
	f.signal(syscall.SIGTERM)
	f.waitFor(f.stderr, stoppingLine)
	began := time.Now()
	// Again and again, since the first signal's handler may just be on its way out.
	eventually(t, "a second signal ends it", func() bool {
		_ = f.cmd.Process.Signal(syscall.SIGTERM)
		return f.hasExited()
	})
	if code, took := f.wait(), time.Since(began); code == 0 || took > 5*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	f.release()
	if err := <-f.done; err == nil {
		t.Error("the request in flight was answered by a process that has ended")
	}
}

// A request that does not come to its end holds up a stop no longer than the deadline.
func TestStopDeadline(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	f := holdOne(t, "--stop-timeout", limit.String())
	began := time.Now()
	code := f.stop()
	if took := time.Since(began); code != exitFailure || took < limit || took > limit+5*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	if !strings.Contains(f.stderr.String(), "requests were still in flight after 1s") {
		t.Errorf("stderr: %s", f.stderr)
	}
	if err := <-f.done; err == nil {
		t.Error("the request in flight was answered")
	}
	f.release()
}

// Nor does a Postgres that has stopped to answer, which is not the same as being gone.
func TestStopWithoutAnswer(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	cluster, databaseURL := storagetest.Cluster(t)
	p := serve(t, databaseURL, "--stop-timeout", limit.String())
	c := backendOf(t, p)
	if _, err := c.dispatch(t.Context(), "run", "ada"); err != nil {
		t.Fatal(err)
	}
	freeze(t, append(sessions(t, databaseURL), cluster.Pid()))
	done := make(chan error, 1)
	go func() {
		_, err := c.dispatch(t.Context(), "run", "ada")
		done <- err
	}()
	if status, _, err := c.get(t.Context(), "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("ready with %d, %v", status, err)
	}
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > limit+5*time.Second {
		t.Errorf("it took %s to stop", took)
	}
	if err := <-done; err == nil {
		t.Error("a dispatch was answered")
	}
}

// sessions returns the process ids of Postgres's that serve belfry.
func sessions(t *testing.T, databaseURL string) []int {
	t.Helper()
	rows, err := connect(t, databaseURL).Query(t.Context(), `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'belfry%'`)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// freeze stops processes until the end of the test.
func freeze(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
}

// A signal ends a start that waits for its database.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	database, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	p := serve(t, "postgres://belfry@"+database.Addr().String()+"/belfry?sslmode=disable")
	conn, err := database.Accept() // belfry has come so far, and is told nothing
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	code := p.stop()
	if took := time.Since(began); code < 0 || took > 5*time.Second {
		t.Errorf("a start ended %s after the signal, exit code %d", took, code)
	}
	_ = conn.Close()
}

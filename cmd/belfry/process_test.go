package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests for what has to come, on a busy machine too.
const patience = 30 * time.Second

// process is a belfry of its own.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	exited         chan struct{} // closed when it has ended
}

// start starts belfry with nothing in its environment but vars. It ends with the test at the latest.
func start(t *testing.T, vars []string, args ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(path, args...), stdout: &output{}, stderr: &output{}, exited: make(chan struct{})}
	p.cmd.Env = variables(vars)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.WaitDelay = 5 * time.Second // for a grandchild that would hold the pipes
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended is in p.cmd.ProcessState
	}()
	t.Cleanup(p.end)
	return p
}

// end ends a process that still runs, in good order if it can, and looks for what no process may ever say.
func (p *process) end() {
	select {
	case <-p.exited:
	default:
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		timer := time.NewTimer(10 * time.Second)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
			p.kill()
		}
	}
	log := p.stderr.String()
	for _, bad := range []string{"DATA RACE", "panic", "internal error"} {
		if strings.Contains(log, bad) {
			p.t.Errorf("%s: its log says %q", strings.Join(p.cmd.Args[1:], " "), bad)
		}
	}
	if p.t.Failed() {
		p.t.Logf("%s: the end of its log:\n%s", strings.Join(p.cmd.Args[1:], " "), log[max(0, len(log)-4000):])
	}
}

// kill is kill -9; it returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the end and returns the exit code, -1 where a signal has ended it.
func (p *process) wait() int {
	p.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.t.Fatalf("%v has not ended after %s", p.cmd.Args[1:], patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// stop sends SIGTERM and returns the exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.wait()
}

// waitFor waits until what belfry writes matches, and returns the first group.
func (p *process) waitFor(from *output, pattern *regexp.Regexp) string {
	p.t.Helper()
	var match []string
	eventually(p.t, pattern.String(), func() bool {
		match = pattern.FindStringSubmatch(from.String())
		return match != nil || p.hasExited()
	})
	if match == nil {
		p.t.Fatalf("%v ended with %d before it said %s:\n%s", p.cmd.Args[1:], p.wait(), pattern, p.stderr)
	}
	return match[len(match)-1]
}

var servingLine = regexp.MustCompile(`msg"?[=:]"?serving.*?address"?[=:]"?([^"\s]+)`)

// baseURL waits until belfry serves.
func (p *process) baseURL() string {
	p.t.Helper()
	return "http://" + p.waitFor(p.stderr, servingLine)
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

// outcome is a belfry that has ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// complete runs belfry to its end.
func complete(t *testing.T, vars []string, args ...string) outcome {
	t.Helper()
	p := start(t, vars, args...)
	return outcome{p.wait(), p.stdout.String(), p.stderr.String()}
}

// check reports an exit code other than the wanted one, and what is missing on stderr.
func (o outcome) check(t *testing.T, code int, messages ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d: %s", o.code, code, o.stderr)
	}
	for _, m := range messages {
		if !strings.Contains(o.stderr, m) {
			t.Errorf("stderr lacks %q: %s", m, o.stderr)
		}
	}
}

// output collects what a process writes, while others read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

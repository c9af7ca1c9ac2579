//go:build !linux || devdbwatcher

package devdb

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// maxSocketPath is sun_path of the BSDs and macOS, 104 bytes, without the closing NUL.
const maxSocketPath = 103

// watch is what each child's watcher runs. Its standard input is a pipe that this process alone
// holds open: a line on it means that the child has ended, its end that this process has.
const watch = `read -r ended || kill "-$1" "$2"`

// gated holds the child back until its watcher is there, so that there is no moment in which
// this process's death would go unnoticed. The gate is a pipe too: its end says not to begin.
const gated = `read -r begin <&3 && exec "$@" 3<&-`

// tether starts each child with a watcher beside it, for systems whose kernel does not tell a
// child of its parent's death.
type tether struct{}

func newTether() *tether { return &tether{} }

// start starts a command that gets the signal when this process dies.
func (t *tether) start(cmd *exec.Cmd, s syscall.Signal) (*process, error) {
	cmd.Args = append([]string{"sh", "-c", gated, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	entry, gate, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	cmd.ExtraFiles = []*os.File{entry} // descriptor 3
	err = cmd.Start()
	_ = entry.Close() // the child has its own copy
	if err != nil {
		return nil, err
	}
	release, err := startWatcher(cmd, s)
	p := await(cmd, release)
	if err == nil {
		_, err = io.WriteString(gate, "begin\n")
	}
	if err != nil {
		p.signal(syscall.SIGKILL)
		<-p.exited
		return nil, fmt.Errorf("watcher: %w", err)
	}
	return p, nil
}

// startWatcher runs the watcher as the child's user, so that it cannot signal anybody else's
// process, and outside the terminal's process group.
func startWatcher(child *exec.Cmd, s syscall.Signal) (release func(), err error) {
	watcher := &exec.Cmd{
		Path: "/bin/sh",
		Args: []string{"sh", "-c", watch, "sh", strconv.Itoa(int(s)), strconv.Itoa(child.Process.Pid)},
		Env:  child.Env,
		Dir:  "/",
		SysProcAttr: &syscall.SysProcAttr{
			Setpgid:    true,
			Credential: child.SysProcAttr.Credential,
		},
	}
	pipe, err := watcher.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := watcher.Start(); err != nil {
		return nil, err
	}
	return func() {
		_, _ = io.WriteString(pipe, "ended\n") // a watcher that was killed needs no word
		_ = pipe.Close()
		_ = watcher.Wait() // its exit code says nothing
	}, nil
}

func (t *tether) close() {}

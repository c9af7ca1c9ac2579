//go:build linux && !devdbwatcher

package devdb

import (
	"os/exec"
	"runtime"
	"syscall"
)

// maxSocketPath is sun_path of unix(7) without the closing NUL.
const maxSocketPath = 107

// tether starts children that the kernel signals when this process dies. The kernel's parent is
// not the process but the thread that has forked, so all of them are started on one thread that
// is locked for as long as the tether is open (prctl(2), PR_SET_PDEATHSIG).
type tether struct {
	calls chan func()
	done  chan struct{}
}

func newTether() *tether {
	t := &tether{calls: make(chan func()), done: make(chan struct{})}
	go t.loop()
	return t
}

func (t *tether) loop() {
	defer close(t.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // by then no child is left that the thread's end could signal
	for call := range t.calls {
		call()
	}
}

// start starts a command that gets the signal when this process dies.
func (t *tether) start(cmd *exec.Cmd, s syscall.Signal) (*process, error) {
	cmd.SysProcAttr.Pdeathsig = s
	started := make(chan error, 1)
	t.calls <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	return await(cmd, nil), nil
}

// close ends the thread's duty. No child may be running.
func (t *tether) close() {
	close(t.calls)
	<-t.done
}

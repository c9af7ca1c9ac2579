package devdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user whom Postgres runs as. Postgres refuses to run as root.
type account struct {
	name       string
	uid, gid   uint32
	credential *syscall.Credential // nil: this process's own user
}

// accountFor returns this process's user, or for root the owner of dir, else postgres, else
// nobody. The owner comes first because a cluster once made as nobody must stay nobody's when a
// Postgres package, and with it the user postgres, is installed later.
func accountFor(dir string) (account, error) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid()) //nolint:gosec // ids are 32 bits wide on every Unix
	if uid != 0 {
		return account{name: userName(uid), uid: uid, gid: gid}, nil
	}
	info, err := os.Stat(dir)
	if err == nil {
		if uid, gid := owner(info); uid != 0 {
			return substitute(userName(uid), uid, gid), nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return account{}, err
	}
	for _, name := range []string{"postgres", "nobody"} {
		if a, ok := lookup(name); ok {
			return a, nil
		}
	}
	return account{}, fmt.Errorf("%w: Postgres does not run as root, and there is neither a user "+
		"postgres nor a user nobody; make one (useradd --system postgres) or run belfry as an ordinary user", ErrNoUser)
}

func lookup(name string) (account, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, false
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, false
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, false
	}
	return substitute(name, uint32(uid), uint32(gid)), uid != 0
}

func substitute(name string, uid, gid uint32) account {
	return account{name: name, uid: uid, gid: gid, credential: &syscall.Credential{Uid: uid, Gid: gid}}
}

// userName falls back to the number: containers run under ids that no passwd file knows.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// command prepares a program to run as the account in a process group of its own, so that a
// Ctrl-C in the terminal reaches this process alone, which then ends Postgres in good order.
// The working directory is one that every user may enter, which this process's own need not be.
func (a account) command(path string, args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path:        path,
		Args:        append([]string{path}, args...),
		Env:         environment(),
		Dir:         "/",
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Credential: a.credential},
	}
}

// environment passes on what programs need to run and nothing else: PGDATA or PGPORT would change
// what Postgres does, and secrets in the environment are not its business.
func environment() []string {
	env := []string{"LC_ALL=C"} // this package reads the messages
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TZ", "TZDIR", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func owner(info fs.FileInfo) (uid, gid uint32) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Uid, st.Gid
}

// Package devdb runs a private Postgres cluster for `belfry dev` and for tests: it finds the
// binaries of an installed Postgres, makes a data directory, starts the server on a Unix socket
// that its own user alone can reach, starts it again when it dies, and ends it when this process
// ends, even by kill -9. It speaks to Postgres through files and signals, without a client
// library. It never deletes a data directory, but for those that OpenTemp has made.
//
// It runs on Linux and the other Unixes. On Linux the kernel ends Postgres after this process; on
// the others, and with the build tag devdbwatcher, which exists to test that way on Linux, a
// small shell process does.
package devdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// Database is the name of the database that every new cluster has besides Postgres's own.
const Database = "belfry"

// superuser is the role that owns a new cluster. There is no password: the 0700 directory around
// the socket is what keeps others out.
const superuser = "postgres"

// port names the socket file; nothing listens on a network.
const port = "5432"

// Config says where a cluster lives and how it runs.
type Config struct {
	// Dir holds everything of the cluster: data directory, socket, lock file and log. It is made
	// where it is missing, and must otherwise be empty or hold an earlier cluster, for its owner
	// and mode are changed. It is for the cluster alone: nothing else belongs in it.
	Dir string
	// BinDir is the one directory to take Postgres's programs from. Empty searches PG_BINDIR, then
	// PATH, pg_config and the usual places, and takes the newest of them: but an existing
	// data directory is always run by its own major version.
	BinDir string
	// Volatile gives durability up for speed, for tests: a crash of the machine may destroy the
	// data, and one of Postgres alone loses the commits of the last second, unless Settings turns
	// synchronous_commit on.
	Volatile bool
	// Settings are further Postgres settings, by name, such as max_connections.
	Settings map[string]string
	// Logger is told of starts, deaths and restarts. Nil is silent.
	Logger *slog.Logger
}

// Cluster is a running Postgres that is kept running until Stop, Close or Detach.
// Its methods may be called from several goroutines.
type Cluster struct {
	dir      string
	settings []string
	volatile bool
	logger   *slog.Logger
	account  account
	install  installation

	root   *os.Root // of dir: as root, a symlink planted there must not lead out of it
	lock   *os.File
	tether *tether

	pid        atomic.Int64
	cancel     context.CancelFunc // ends supervise
	supervised chan struct{}      // closed when supervise has returned
	restarts   chan restart
	current    *process // supervise's own until supervised is closed; nil where none runs

	temporary bool // the directory goes when the cluster is closed

	ending sync.Mutex // serialises Stop, Close and Detach; guards ended
	ended  bool
}

// Open makes the cluster where there is none yet, starts it and returns when it takes
// connections. Ending ctx gives up the start and does nothing to a cluster that is open.
//
// Errors answer errors.Is for the Err values of this package; their messages say what to do.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	c, err := newCluster(cfg)
	if err == nil {
		err = c.open(ctx, cfg.BinDir)
	}
	if err != nil {
		return nil, fmt.Errorf("open cluster in %s: %w", cfg.Dir, err)
	}
	return c, nil
}

func newCluster(cfg Config) (*Cluster, error) {
	if cfg.Dir == "" {
		return nil, errors.New("no directory given")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := checkSocketPath(dir); err != nil {
		return nil, err
	}
	account, err := accountFor(dir)
	if err != nil {
		return nil, err
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Cluster{
		dir:        dir,
		settings:   settings(dir, cfg.Volatile, cfg.Settings),
		volatile:   cfg.Volatile,
		logger:     logger,
		account:    account,
		supervised: make(chan struct{}),
		restarts:   make(chan restart),
	}, nil
}

// open looks for binaries before it touches the directory, so that a machine without Postgres is
// left as it was.
func (c *Cluster) open(ctx context.Context, binDir string) (err error) {
	c.tether = newTether()
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	found, err := c.findInstallations(ctx, binDir)
	if err != nil {
		return err
	}
	if err := c.prepareDir(ctx); err != nil {
		return c.explain(err)
	}
	if err := c.acquire(); err != nil {
		return c.explain(err)
	}
	major, err := c.dataMajor()
	if err != nil {
		return err
	}
	if c.install, err = choose(found, major); err != nil {
		return err
	}
	if err := c.initialise(ctx, major == 0); err != nil {
		return err
	}
	if c.current, err = c.startPatiently(ctx); err != nil {
		return err
	}
	// The cluster outlives the call: a deadline for the start is none for the supervision.
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go c.supervise(lifetime)
	return nil
}

// release gives back everything but Postgres itself, which has ended.
func (c *Cluster) release() {
	c.tether.close()
	c.unlock()
	if c.root != nil {
		_ = c.root.Close() // opened for looking things up: nothing is lost with it
	}
}

// URL returns the connection string of a database of the cluster, in the form that pgx and libpq
// read. The database need not exist.
func (c *Cluster) URL(database string) string {
	query := url.Values{
		"host": {c.dir},
		// Given although it is the default, because PGPORT and PGSSLMODE would fill a gap.
		"port":    {port},
		"sslmode": {"disable"},
	}
	u := url.URL{
		Scheme: "postgres",
		User:   url.User(superuser),
		Path:   "/" + database,
		// Connection strings know %20, but no plus for a space as web forms do.
		RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20"),
	}
	return u.String()
}

// Dir returns the absolute path of the cluster's directory, which is also the socket's.
func (c *Cluster) Dir() string { return c.dir }

// Pid returns the process id of the postmaster, or 0 while Postgres is down.
func (c *Cluster) Pid() int { return int(c.pid.Load()) }

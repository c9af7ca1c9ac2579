package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// peerDir is the npm project of PostGraphile, which has a Node of its own: it needs 22.
const peerDir = "bench/postgraphile"

// peerPageQuery is pageQuery in PostGraphile's words.
const peerPageQuery = `query Page($user: String!, $first: Int) {
  unreadCount(userId: $user)
  allNotifications(condition: {userId: $user, archivedAt: null}, orderBy: PRIMARY_KEY_DESC, first: $first) {
    edges { cursor node { id kind category title body url createdAt readAt } }
    pageInfo { hasNextPage endCursor }
  }
}`

// installPeer installs PostGraphile where it is not, or not as the lock says, and returns its Node; the error
// is errNoPeer where that can't be done, which in CI is a failure.
func installPeer(ctx context.Context) (node string, err error) {
	if !isInstalled() {
		cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
		cmd.Dir = peerDir
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("%w: %s", failed, out)
		}
	}
	if err == nil {
		node, _, err = peerNode(ctx)
	}
	switch {
	case err == nil:
		return node, nil
	case os.Getenv("CI") != "" || ctx.Err() != nil:
		return "", fmt.Errorf("install PostGraphile: %w", err)
	}
	fmt.Fprintln(os.Stderr, "bench: PostGraphile can't be installed:", err)
	return "", fmt.Errorf("no PostGraphile: %w", errNoPeer)
}

// isInstalled reports whether npm has installed what the lock holds: it leaves a lock of its own behind.
func isInstalled() bool {
	lock, err := os.Stat(filepath.Join(peerDir, "package-lock.json"))
	if err != nil {
		return false
	}
	installed, err := os.Stat(filepath.Join(peerDir, "node_modules", ".package-lock.json"))
	return err == nil && !installed.ModTime().Before(lock.ModTime())
}

// minNode is the oldest major version of Node that PostGraphile runs on.
const minNode = 22

// peerNode returns the project's own Node, or the machine's where npm was not let install one, and its version.
func peerNode(ctx context.Context) (path, version string, err error) {
	own, err := filepath.Abs(filepath.Join(peerDir, "node_modules", ".bin", "node"))
	if err != nil {
		return "", "", err
	}
	for _, path := range []string{own, "node"} {
		out, err := exec.CommandContext(ctx, path, "--version").Output()
		if err != nil {
			continue
		}
		version := strings.TrimSpace(strings.TrimPrefix(string(out), "v"))
		major, _, _ := strings.Cut(version, ".")
		if n, err := strconv.Atoi(major); err == nil && n >= minNode {
			return path, version, nil
		}
	}
	return "", "", fmt.Errorf("no Node of version %d or later", minNode)
}

// peerVersions returns the versions of Node and PostGraphile.
func peerVersions(ctx context.Context) (node, version string, err error) {
	if _, node, err = peerNode(ctx); err != nil {
		return "", "", err
	}
	manifest, err := os.ReadFile(filepath.Join(peerDir, "node_modules", "postgraphile", "package.json"))
	if err != nil {
		return "", "", err
	}
	var m struct{ Version string }
	err = json.Unmarshal(manifest, &m)
	return node, m.Version, err
}

// startPeer starts PostGraphile over the stage's tables.
func (st *stage) startPeer(ctx context.Context) (*server, error) {
	node, err := installPeer(ctx)
	if err != nil {
		return nil, err
	}
	if err := st.preparePeer(ctx); err != nil {
		return nil, err
	}
	pool, err := pgxpool.ParseConfig(st.url)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, node, "server.mjs")
	cmd.Dir = peerDir
	cmd.Env = append(os.Environ(), "NODE_ENV=production", "GRAPHILE_ENV=production",
		databaseVariable+"="+st.url, "BENCH_POOL="+strconv.Itoa(int(pool.MaxConns)))
	return startListening(cmd)
}

// preparePeer adds to the tables what PostGraphile's users would.
func (st *stage) preparePeer(ctx context.Context) error {
	schema, err := os.ReadFile(filepath.Join(peerDir, "schema.sql"))
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, st.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, string(schema))
	return err
}

// shownPage is what two answers have in common, whatever their ids and cursors look like.
type shownPage struct {
	unread  int
	hasNext bool
	rows    []shownRow
}

type shownRow struct {
	Kind, Category, Title string
	Body, URL             *string
	CreatedAt             time.Time
	ReadAt                *time.Time
}

type shownConnection struct {
	Edges []struct {
		Cursor string
		Node   struct {
			ID string
			shownRow
		}
	}
	PageInfo struct {
		HasNextPage bool
		EndCursor   string
	}
}

// parsePage reads an answer of Belfry or of PostGraphile.
func parsePage(body []byte) (shownPage, error) {
	var answer struct {
		Data struct {
			Viewer *struct {
				UnreadCount   int
				Notifications shownConnection
			}
			UnreadCount      int
			AllNotifications shownConnection
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return shownPage{}, err
	}
	unread, found := answer.Data.UnreadCount, answer.Data.AllNotifications
	if v := answer.Data.Viewer; v != nil {
		unread, found = v.UnreadCount, v.Notifications
	}
	page := shownPage{unread: unread, hasNext: found.PageInfo.HasNextPage}
	for _, e := range found.Edges {
		if e.Cursor == "" || e.Node.ID == "" {
			return shownPage{}, errors.New("an edge without cursor or id")
		}
		row := e.Node.shownRow
		row.CreatedAt = row.CreatedAt.UTC()
		if row.ReadAt != nil {
			row.ReadAt = new(row.ReadAt.UTC())
		}
		page.rows = append(page.rows, row)
	}
	if len(page.rows) == 0 || found.PageInfo.EndCursor != found.Edges[len(found.Edges)-1].Cursor {
		return shownPage{}, errors.New("no edges, or another endCursor than the last one's")
	}
	return page, nil
}

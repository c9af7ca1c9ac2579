package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// secret signs the tokens of the measured servers.
const secret = "a secret of the bench, which guards nothing"

// stage is what the figures of speed share: belfry as it is built, and a database of its own with many
// notifications. Its Postgres keeps them on disk: in memory, where the other figures' is, a commit costs
// nothing, and what writes nothing, a duplicate for example, gains nothing.
type stage struct {
	dir      string
	binary   string
	database *database // nil where it could not be opened
	url      string
	size
}

// size is how much there is in the stage's database.
type size struct {
	// users are user-0 and so on, who have each notifications.
	users, each int
	// deep is how many notifications the user of that name has.
	deep int
}

var (
	fullSize  = size{users: 20_000, each: 50, deep: 1_000_000}
	quickSize = size{users: 2_000, each: 50, deep: 50_000}
)

// isQuick reports whether this run is there to see that the bench works.
func (b *bench) isQuick() bool { return b.rounds == 1 }

// openStage makes the stage the first time that it is called. It lasts until closeStage.
func (b *bench) openStage(ctx context.Context) (*stage, error) {
	if b.stage != nil {
		return b.stage, nil
	}
	st := &stage{size: fullSize}
	if b.isQuick() {
		st.size = quickSize
	}
	var err error
	if st.dir, err = os.MkdirTemp("", "belfry-bench-"); err != nil {
		return nil, err
	}
	b.stage = st                                    // from here on there is something to remove
	if err := os.Chmod(st.dir, 0o711); err != nil { // for Postgres, which as root runs as another user
		return nil, err
	}
	st.binary = filepath.Join(st.dir, "belfry")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", st.binary, "./cmd/belfry").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build belfry (run from the root of the repository): %w: %s", err, out)
	}
	if st.database, err = openDatabase(ctx, st.dir); err != nil {
		return nil, err
	}
	st.url = st.database.url
	started := time.Now()
	err = st.seed(ctx)
	fmt.Fprintf(os.Stderr, "bench: the stage took %.0f s to seed\n", time.Since(started).Seconds())
	return st, err
}

// closeStage ends the stage where there is one.
func (b *bench) closeStage() error {
	st := b.stage
	if st == nil {
		return nil
	}
	b.stage = nil
	var err error
	if st.database != nil {
		err = st.database.Close()
	}
	return errors.Join(err, os.RemoveAll(st.dir))
}

// The users with a name of their own.
const (
	// deepUser has size.deep notifications, of which the newest unreadOfDeep are unread.
	deepUser     = "deep"
	unreadOfDeep = 10
	// shallowUser has as many unread and no others.
	shallowUser = "shallow"
)

// Notifications come as they would: user after user, a millisecond apart. Of each user's the newest ten are
// unread and one in thirty of the others is archived; titles and bodies hold what has to be escaped.
const seedSQL = `
INSERT INTO notifications (user_id, created_at, id, kind, category, actor_id, title, body, url, data, read_at, archived_at)
SELECT user_id, at,
  (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
  (ARRAY['comment', 'pull_request.review_requested', 'check_run.failed', 'mention', 'release'])[1 + n % 5],
  (ARRAY['reviews', 'reviews', 'ci', 'mentions', 'releases'])[1 + n % 5],
  CASE WHEN n % 4 > 0 THEN 'user-' || n % 997 END,
  'Zoë Müller commented on "Release ' || n || ' & what follows"',
  CASE WHEN n % 3 > 0 THEN 'Looks good to me, but see line ' || n % 400 || E' of <main.go>:\nthe lock is held while "wait" blocks. '
    || repeat('Could that be moved up? ', n % 5) END,
  CASE WHEN n % 5 > 0 THEN 'https://git.example.com/acme/repo-' || n % 50 || '/pull/' || n || '?tab=files' END,
  CASE WHEN n % 2 > 0 THEN json_build_object('repo', 'acme/repo-' || n % 50, 'number', n, 'labels', ARRAY['bug', 'urgent']) END,
  CASE WHEN NOT is_unread THEN at + interval '5 minutes' END,
  CASE WHEN NOT is_unread AND may_be_archived AND n % 30 = 0 THEN at + interval '10 minutes' END
FROM (
  SELECT n, CASE WHEN $1 = 'user-' THEN $1 || n % $2 ELSE $1 END AS user_id,
    timestamptz '2026-01-01T00:00:00Z' + n * interval '1.000123 milliseconds' AS at, md5($1 || n) AS hash,
    n / $2 >= $3::int / $2 - 10 AS is_unread, $1 = 'user-' AS may_be_archived
  FROM generate_series(0, $3 - 1) n) r`

// The first users are known by name, and have chosen something.
const seedUsersSQL = `
WITH accounts AS (
  INSERT INTO accounts (user_id, email, display_name, avatar_url, created_at)
  SELECT 'user-' || n, 'user-' || n || '@example.com', 'User ' || n, 'https://img.example.com/' || n || '.png', now()
  FROM generate_series(0, 999) n)
INSERT INTO settings (user_id, theme, locale, time_zone, email_digest, updated_at)
SELECT 'user-' || n, 'DARK', 'de', 'Europe/Berlin', 'WEEKLY', now() FROM generate_series(0, 999) n`

// The newest ten notifications of each user have a claim: without any, a plan that Postgres keeps for a
// dispatch would be one for an empty table.
const seedClaimsSQL = `
INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id)
SELECT user_id, 'notification:seed-' || substr(id::text, 1, 13) || ':' || kind || ':' || user_id, sha256(id::text::bytea), created_at, id
FROM notifications WHERE user_id LIKE 'user-%' AND read_at IS NULL AND archived_at IS NULL`

func (st *stage) seed(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, st.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// $2 is how many users take turns.
	for _, part := range []struct {
		user        string
		turns, rows int
	}{
		{"user-", st.users, st.users * st.each}, {deepUser, 1, st.deep}, {shallowUser, 1, unreadOfDeep},
	} {
		if _, err := conn.Exec(ctx, seedSQL, part.user, part.turns, part.rows); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	for _, sql := range []string{seedUsersSQL, seedClaimsSQL, `VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

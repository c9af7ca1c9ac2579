package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/storage/storagetest"
)

// seedOld gives ada a notification of three days ago beside one of now, and a claim that is old too.
func seedOld(t *testing.T, databaseURL string) {
	t.Helper()
	const sql = `
		INSERT INTO notifications (user_id, created_at, id, kind, category, title)
		SELECT 'ada', now() - d * interval '1 day', gen_random_uuid(), 'k', 'c', d::text FROM unnest(ARRAY[0, 3]) d;
		INSERT INTO claims (user_id, key, content_hash, subject_at, subject_id, created_at)
		VALUES ('ada', 'key', '', now(), gen_random_uuid(), now() - interval '31 days')`
	if _, err := connect(t, databaseURL).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// table returns the first and the last column of what prune prints.
func table(text string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(text) {
		what, rest, _ := strings.Cut(line, "  ")
		words := strings.Fields(rest)
		rows[what] = words[len(words)-1]
	}
	return rows
}

// Case T-09 for what has expired, across processes: the dry run tells, the prune removes, the subscriber hears, and
// list and count agree.
func TestT09PruneTellsSubscribers(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	p := serve(t, databaseURL, "--claim-ttl=0")
	ada := newClient(t, p.baseURL(), signed(t, "ada", ""))
	seedOld(t, databaseURL)
	counts := badges(t, p, "ada")
	wantBadge(t, "before", counts, 2)
	prune := func(args ...string) map[string]string {
		t.Helper()
		var got outcome
		eventually(t, "no other process sweeps", func() bool {
			got = complete(t, nil, append([]string{"prune", "--database-url", databaseURL, "--notification-ttl=48h"}, args...)...)
			return !strings.Contains(got.stderr, "try again later")
		})
		got.check(t, 0)
		return table(got.stdout)
	}
	want := map[string]string{"WHAT": "GO", "notifications": "1", "read notifications": "0", "activities": "0", "claims": "1", "push ledger": "0"}
	if diff := cmp.Diff(want, prune("--dry-run")); diff != "" {
		t.Errorf("dry run (-want +got):\n%s", diff)
	}
	want["WHAT"] = "GONE"
	if diff := cmp.Diff(want, prune()); diff != "" {
		t.Errorf("prune (-want +got):\n%s", diff)
	}
	wantBadge(t, "after", counts, 1)
	var data struct {
		Viewer struct {
			UnreadCount   int
			Notifications struct{ Nodes []struct{ Title string } }
		}
	}
	ada.must(t, `{ viewer { unreadCount notifications(filter: {status: UNREAD}) { nodes { title } } } }`, nil, &data)
	if n := data.Viewer.Notifications.Nodes; len(n) != 1 || n[0].Title != "0" || data.Viewer.UnreadCount != 1 {
		t.Errorf("got %+v, want one, counted once", data.Viewer)
	}
	want["WHAT"], want["notifications"], want["claims"] = "GONE", "0", "0"
	if diff := cmp.Diff(want, prune()); diff != "" {
		t.Errorf("prune again (-want +got):\n%s", diff)
	}
}

// A server removes what is old by itself.
func TestServeSweeps(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	seedOld(t, databaseURL)
	p := serve(t, databaseURL, "--notification-ttl=48h")
	conn := connect(t, databaseURL)
	eventually(t, "what is old is gone", func() bool {
		return count(t, conn, `SELECT count(*) FROM notifications`) == 1 && count(t, conn, `SELECT count(*) FROM claims`) == 0
	})
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTTLFaults(t *testing.T) {
	t.Parallel()
	ttls := []string{"--notification-ttl=-1h", "--read-notification-ttl=-1s", "--claim-ttl=59m", "--push-ledger-ttl=-1h"}
	messages := []string{
		"database-url is required", "read-notification-ttl must be 0 or more", ": notification-ttl must be 0 or more",
		"claim-ttl must be 1h0m0s or more, or 0", "push-ledger-ttl must be 0 or more",
	}
	for _, command := range []string{"serve", "prune"} {
		complete(t, secretVariable, append([]string{command}, ttls...)...).check(t, exitUsage, messages...)
	}
	complete(t, nil, "prune", "extra", "--log-level=loud").check(t, exitUsage, `"extra"`, "database-url is required")
	complete(t, nil, "prune", "--database-url", emptyDatabase(t)).check(t, exitFailure, "run belfry migrate up")
}

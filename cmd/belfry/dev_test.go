package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/devdb"
)

// dataDir returns the path of a data directory that does not exist yet, where Postgres's user can get to,
// which root's t.TempDir is not.
func dataDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp(devdb.ScratchDir(), "belfry-dev-test-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(parent); err != nil {
			t.Error(err)
		}
	})
	return filepath.Join(parent, "data")
}

// dev is a belfry dev that has greeted.
type dev struct {
	*process
	base   string            // what its API's address begins with
	tokens map[string]string // by user
	curl   string            // the command that it proposes
}

var (
	greetedEndpoint = regexp.MustCompile(`(?m)^Belfry answers at +(\S+)/graphql$`)
	greetedToken    = regexp.MustCompile(`(?m)^  (\S+) +(ey\S+)$`)
	greetedCurl     = regexp.MustCompile(`(?m)^(curl .*)\n`)
)

// startDev starts belfry dev on a free port and waits for its greeting.
func startDev(t *testing.T, dir string, vars []string, args ...string) *dev {
	t.Helper()
	p := start(t, vars, slices.Concat([]string{"dev", "--listen", "127.0.0.1:0", "--data", dir}, args)...)
	d := &dev{process: p, tokens: map[string]string{}}
	d.curl = p.waitFor(p.stdout, greetedCurl) // the last line
	d.base = p.waitFor(p.stdout, greetedEndpoint)
	for _, m := range greetedToken.FindAllStringSubmatch(p.stdout.String(), -1) {
		d.tokens[m[1]] = m[2]
	}
	return d
}

// as returns a client with the token that was printed for a user.
func (d *dev) as(user string) *client { return newClient(d.t, d.base, d.tokens[user]) }

// readDemo returns the demo events and how many of them each user was told.
func readDemo(t *testing.T) (events []demoEvent, told map[string]int) {
	t.Helper()
	told = map[string]int{}
	for line := range strings.Lines(string(demoEvents)) {
		var e demoEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		for _, r := range slices.Compact(slices.Sorted(slices.Values(e.Recipients))) {
			told[r]++
		}
	}
	return events, told
}

func TestDevFirstStart(t *testing.T) {
	t.Parallel()
	d := startDev(t, dataDir(t), nil)
	t.Run("greeting", func(t *testing.T) { testGreeting(t, d) })
	t.Run("curl", func(t *testing.T) { testCurl(t, d) })
	t.Run("counts", func(t *testing.T) { testCounts(t, d) })
	t.Run("feed", func(t *testing.T) { testDemoFeed(t, d) })
	t.Run("introspection", func(t *testing.T) {
		var data struct {
			Schema struct{ QueryType struct{ Name string } }
		}
		d.as("ada").must(t, `{ Schema: __schema { queryType { name } } }`, nil, &data)
		if got := data.Schema.QueryType.Name; got != "Query" {
			t.Errorf("query type %q", got)
		}
	})
}

func testGreeting(t *testing.T, d *dev) {
	if !strings.HasPrefix(d.base, "http://127.0.0.1:") || d.base != d.baseURL() {
		t.Errorf("greeted with %s, serves on %s", d.base, d.baseURL())
	}
	want := []string{"ada", "dara", "demo-backend"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(d.tokens))); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	for _, user := range want {
		var data struct{ Viewer struct{ UserID string } }
		d.as(user).must(t, `{ viewer { userId } }`, nil, &data)
		if data.Viewer.UserID != user {
			t.Errorf("%s's token is %s's", user, data.Viewer.UserID)
		}
	}
}

// testCurl types what a newcomer is told to type.
func testCurl(t *testing.T, d *dev) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("this test runs the command that belfry dev prints: install curl")
	}
	text, err := exec.Command("sh", "-c", d.curl).Output()
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Title, CreatedAt string
		Actor            struct{ DisplayName string }
	}
	var got struct {
		Data struct {
			Viewer struct {
				UserID        string
				UnreadCount   int
				Notifications struct{ Nodes []node }
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	_, told := readDemo(t)
	viewer := got.Data.Viewer
	if viewer.UserID != "ada" || viewer.UnreadCount != told["ada"] || len(viewer.Notifications.Nodes) != 3 {
		t.Errorf("unexpected answer: %s", text)
	}
	for _, n := range viewer.Notifications.Nodes {
		if n.Title == "" || n.CreatedAt == "" || n.Actor.DisplayName == "" {
			t.Errorf("lacks something: %+v", n)
		}
	}
}

// testCounts compares every badge with the file that the demo data come from.
func testCounts(t *testing.T, d *dev) {
	_, want := readDemo(t)
	if want["ada"] != 152 || want["dara"] != 32 {
		t.Errorf("the demo data have changed: %v", want)
	}
	var data struct {
		Users []struct {
			UserID      string
			UnreadCount int
		}
	}
	ids := map[string]any{"ids": slices.Sorted(maps.Keys(want))}
	d.as("demo-backend").must(t, `query ($ids: [String!]!) { users(userIds: $ids) { userId unreadCount } }`, ids, &data)
	got := map[string]int{}
	for _, u := range data.Users {
		got[u.UserID] = u.UnreadCount
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}

func TestDevWithoutDemo(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := startDev(t, dir, []string{"BELFRY_JWT_SECRET=" + testSecret}, "--no-demo")
	t.Run("nothing there", func(t *testing.T) {
		got := feedOf(t, d.as("demo-backend"), "ada")
		if len(got) > 0 {
			t.Errorf("%d notifications", len(got))
		}
	})
	t.Run("the secret that is set", func(t *testing.T) {
		var data struct{ Viewer struct{ UserID string } }
		newClient(t, d.base, signed(t, "zoe", "")).must(t, `{ viewer { userId } }`, nil, &data)
		if data.Viewer.UserID != "zoe" {
			t.Errorf("viewer %q", data.Viewer.UserID)
		}
		if !isAbsent(filepath.Join(dir, "jwt-secret")) {
			t.Error("a secret was made beside the one that was set")
		}
	})
	t.Run("second on the directory", func(t *testing.T) {
		got := complete(t, nil, "dev", "--listen", "127.0.0.1:0", "--data", dir)
		got.check(t, exitFailure, devdb.ErrInUse.Error(), "choose another directory with --data")
	})
	t.Run("second on the port", func(t *testing.T) {
		dir := dataDir(t)
		got := complete(t, nil, "dev", "--listen", strings.TrimPrefix(d.base, "http://"), "--data", dir)
		got.check(t, exitFailure, "address already in use", "choose another address with --listen")
		if !isAbsent(dir) {
			t.Error("a start without a chance made its directory")
		}
	})
	var data struct{ Viewer struct{ UserID string } }
	d.as("ada").must(t, `{ viewer { userId } }`, nil, &data) // none of them has disturbed it
}

func TestDevSecret(t *testing.T) {
	t.Parallel()
	t.Run("short file", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		path := filepath.Join(dir, "jwt-secret")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("too short"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := complete(t, nil, "dev", "--listen", "127.0.0.1:0", "--data", dir)
		got.check(t, exitFailure, path+" has less than 32 bytes: delete it to have a new one made")
	})
	t.Run("short variable", func(t *testing.T) {
		t.Parallel()
		dir := dataDir(t)
		got := complete(t, []string{"BELFRY_JWT_SECRET=too short"}, "dev", "--listen", "127.0.0.1:0", "--data", dir)
		got.check(t, exitUsage, "the secret has 9 bytes, it needs 32 or more")
		if !isAbsent(dir) {
			t.Error("a start without a chance made its directory")
		}
	})
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// contents is what a developer sees of a data directory's demo data.
type contents struct {
	Feeds    map[string][]node
	Accounts []account
}

type account struct {
	UserID  string
	Account struct{ DisplayName, Email string }
}

func contentsOf(t *testing.T, d *dev) contents {
	t.Helper()
	backend := d.as("demo-backend")
	got := contents{Feeds: map[string][]node{}}
	_, told := readDemo(t)
	for user := range told {
		got.Feeds[user] = feedOf(t, backend, user)
	}
	var data struct{ Users []account }
	ids := map[string]any{"ids": []string{"ada", "bela", "chen", "dara", "edo", "fay", "gus", "hana", "ivo"}}
	backend.must(t, `query ($ids: [String!]!) { users(userIds: $ids) { userId account { displayName email } } }`, ids, &data)
	got.Accounts = data.Users
	return got
}

// postmasterFile is there for as long as the data directory's Postgres runs, and holds its process id.
func postmasterFile(dir string) string {
	return filepath.Join(dir, "postgres", "data", "postmaster.pid")
}

// postmaster returns the process id of the data directory's Postgres, 0 where none is known.
func postmaster(dir string) int {
	text, _ := os.ReadFile(postmasterFile(dir))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

func isAbsent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// What users did to the demo data outlives a restart, which neither brings back nor doubles anything.
func TestDevRestart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := startDev(t, dir, nil)
	changeDemo(t, first)
	before := contentsOf(t, first)
	pid := postmaster(dir)
	if code := first.stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if !isAbsent(postmasterFile(dir)) || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		t.Errorf("Postgres %d has not ended with belfry dev", pid)
	}

	second := startDev(t, dir, nil)
	second.tokens = first.tokens // the secret is kept, so they are still good
	if diff := cmp.Diff(before, contentsOf(t, second)); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
}

// changeDemo does what a developer may do between two starts.
func changeDemo(t *testing.T, d *dev) {
	t.Helper()
	feed := feedOf(t, d.as("ada"), "ada")
	var data struct {
		MarkNotificationsRead struct{ ChangedIds []string }
		DeleteNotifications   struct{ DeletedIds []string }
	}
	const mark = `mutation ($read: [ID!]!, $gone: [ID!]!) {
		markNotificationsRead(input: {ids: $read}) { changedIds } deleteNotifications(input: {ids: $gone}) { deletedIds } }`
	d.as("ada").must(t, mark, map[string]any{"read": []string{feed[0].ID}, "gone": []string{feed[1].ID}}, &data)
	if len(data.MarkNotificationsRead.ChangedIds) != 1 || len(data.DeleteNotifications.DeletedIds) != 1 {
		t.Fatalf("not changed: %+v", data)
	}
	var put struct {
		PutAccount struct{ UserErrors []inbox.UserError }
	}
	const rename = `mutation { putAccount(input: {userId: "chen", displayName: "Chen Xi", email: "xi@example.com"}) { userErrors { message } } }`
	d.as("demo-backend").must(t, rename, nil, &put)
	if len(put.PutAccount.UserErrors) > 0 {
		t.Fatalf("not renamed: %+v", put)
	}
}

func TestDevKilled(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := startDev(t, dir, nil)
	before := contentsOf(t, d)

	d.kill()
	eventually(t, "Postgres ends by itself", func() bool { return isAbsent(postmasterFile(dir)) })
	d = startDev(t, dir, nil)
	if diff := cmp.Diff(before, contentsOf(t, d)); diff != "" {
		t.Errorf("after kill -9 (-before +after):\n%s", diff)
	}

	d.kill() // and without waiting for Postgres
	d = startDev(t, dir, nil)
	if diff := cmp.Diff(before, contentsOf(t, d)); diff != "" {
		t.Errorf("after kill -9 and a start at once (-before +after):\n%s", diff)
	}
}

// A first start that is ended in the middle of the demo data is completed by the next one.
func TestDevEndedWhileLoading(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*process) int{
		"SIGTERM": (*process).stop,
		"SIGKILL": func(p *process) int {
			p.kill()
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			p := start(t, nil, "dev", "--listen", "127.0.0.1:0", "--data", dir, "--log-level", "debug")
			p.waitFor(p.stderr, regexp.MustCompile(`path=/(graphql)`)) // it has begun
			if code := end(p); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if greetedCurl.MatchString(p.stdout.String()) {
				t.Log("it was done before it was ended: nothing is tested")
			}
			d := startDev(t, dir, nil)
			testCounts(t, d)
			testDemoFeed(t, d)
		})
	}
}

// A dead Postgres is started again; meanwhile clients are told to come back.
func TestDevPostgresKilled(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := startDev(t, dir, nil)
	before := contentsOf(t, d)
	pid := postmaster(dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	refused, ada := 0, d.as("ada")
	eventually(t, "another Postgres answers", func() bool {
		got, err := ada.ask(t.Context(), `{ viewer { unreadCount } }`, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Errors) > 0 {
			refused++
			if code := got.Errors[0].Extensions.Code; code != string(inbox.Unavailable) {
				t.Fatalf("%s while Postgres is away", code)
			}
			return false
		}
		now := postmaster(dir)
		return now != 0 && now != pid
	})
	t.Logf("%d requests answered UNAVAILABLE", refused)
	if diff := cmp.Diff(before, contentsOf(t, d)); diff != "" {
		t.Errorf("after Postgres was killed (-before +after):\n%s", diff)
	}
}

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage/storagetest"
)

//go:embed testdata/archive.graphql
var archiveQuery string

// archiveFill gives ada a bit of everything.
var archiveFill = []string{
	`mutation { putAccount(input: {userId: "bela", displayName: "Bela", avatarUrl: "https://example.com/bela.png"}) { userErrors { code } } }`,
	`mutation { putAccount(input: {userId: "ada", displayName: "Ada \"the first\" 🐣", email: "ada@example.com"}) { userErrors { code } } }`,
	`mutation { putItem(input: {userId: "ada", itemId: "1", title: "One", tags: ["minutes", "a \"b\" {c}, d"], url: "https://example.com/1"}) { userErrors { code } } }`,
	`mutation { putItem(input: {userId: "ada", itemId: "2", title: "Two", tags: ["MINUTES"], data: {z: [1, 2.50, null], a: "<&>"}}) { userErrors { code } } }`,
	`mutation { putItem(input: {userId: "bela", itemId: "1", title: "Bela's", tags: ["minutes"]}) { userErrors { code } } }`,
	`mutation { recordActivity(input: {userId: "ada", verb: "merged", object: "belfry#1", idempotencyKey: "m1"}) { userErrors { code } } }`,
	`mutation { recordActivity(input: {userId: "ada", verb: "read", occurredAt: "2026-01-02T03:04:05.678Z", expiresAt: "2126-01-02T03:04:05Z", data: [1]}) { userErrors { code } } }`,
}

// adasFill is what ada does herself.
var adasFill = []string{
	`mutation { registerDevice(input: {provider: EXPO, token: "ExponentPushToken[one]", deviceId: "phone", platform: IOS, name: "Phone"}) { userErrors { code } } }`,
	`mutation { registerDevice(input: {provider: EXPO, token: "ExponentPushToken[two]", deviceId: "phone", platform: IOS}) { userErrors { code } } }`,
	`mutation { updateSettings(input: {theme: DARK, timeZone: "Europe/Berlin"}) { userErrors { code } } }`,
	`mutation { setPreference(input: {category: "quiet", channel: PUSH, enabled: false}) { userErrors { code } } }`,
	`mutation { setPreference(input: {category: "noise", channel: IN_APP, enabled: false}) { userErrors { code } } }`,
}

const dispatchArchived = `mutation ($run: String!, $category: String!, $data: JSON) { dispatch(input: {
	runId: $run, kind: "k:1", category: $category, recipients: ["ada", "bela"], actor: "bela", title: "T", body: "a\nb", data: $data,
	url: "https://example.com"}) { results { recipient status notificationId } userErrors { code } } }`

// fillArchive gives ada and bela data over the API, pushes among it, and returns the runs of the events.
func fillArchive(t *testing.T, databaseURL string) (runs []string) {
	t.Helper()
	sim := start(t, nil, "expo-sim", "--listen", "127.0.0.1:0")
	p := serve(t, databaseURL, "--expo-url", sim.waitFor(sim.stdout, expoSimLine), "--drain-delay", "0s")
	backend, ada := backendOf(t, p), newClient(t, p.baseURL(), signed(t, "ada", ""))
	for _, mutation := range archiveFill {
		backend.must(t, mutation, nil, &struct{}{})
	}
	for _, mutation := range adasFill {
		ada.must(t, mutation, nil, &struct{}{})
	}
	dispatch := func(n int) {
		for range n {
			run, category := fmt.Sprintf("run:%d%%", len(runs)), []string{"ci", "reviews", "quiet", "noise"}[len(runs)%4]
			runs = append(runs, run)
			backend.must(t, dispatchArchived, map[string]any{"run": run, "category": category, "data": map[string]any{"n": len(runs)}}, &struct{}{})
		}
	}
	dispatch(20)
	var feed struct {
		Viewer struct {
			Notifications struct{ Nodes []struct{ ID string } }
		}
	}
	ada.must(t, `{ viewer { notifications(first: 100) { nodes { id } } } }`, nil, &feed)
	ids := feed.Viewer.Notifications.Nodes
	mark := func(mutation string, nodes ...struct{ ID string }) {
		list := []string{}
		for _, n := range nodes {
			list = append(list, n.ID)
		}
		ada.must(t, `mutation ($ids: [ID!]!) { `+mutation+`(input: {ids: $ids}) { userErrors { code } } }`, map[string]any{"ids": list}, &struct{}{})
	}
	mark("markNotificationsRead", ids[0], ids[5], ids[6])
	mark("archiveNotifications", ids[6], ids[7])
	mark("deleteNotifications", ids[9])
	ada.must(t, `mutation ($id: ID!) { markNotificationsSeen(input: {throughId: $id}) { userErrors { code } } }`, map[string]any{"id": ids[3].ID}, &struct{}{})
	dispatch(8)
	eventually(t, "all pushes are sent", func() bool {
		list := complete(t, nil, "push", "ls", "--user", "ada", "--database-url", databaseURL, "--limit", "1000").stdout
		return strings.Count(list, " sent ") >= 14 && strings.Contains(list, " suppressed ") && !strings.Contains(list, " queued ") && !strings.Contains(list, " sending ")
	})
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	return runs
}

// nodeIDs finds ids in an answer.
var nodeIDs = regexp.MustCompile(`"((?:usr|acc|set|ntf|dev|act|itm)_[\w-]+)"`)

// archivedAnswers asks everything about a user, and then about every object by its id.
func archivedAnswers(t *testing.T, p *process, user string, known []string) (text string, ids []string) {
	t.Helper()
	var data json.RawMessage
	c := newClient(t, p.baseURL(), signed(t, user, ""))
	c.must(t, archiveQuery, map[string]any{"ids": []string{}}, &data)
	if known == nil {
		for _, m := range nodeIDs.FindAllStringSubmatch(string(data), -1) {
			known = append(known, m[1])
		}
		slices.Sort(known)
		known = slices.Compact(known)
	}
	text = indented(t, data)
	for some := range slices.Chunk(known, 40) {
		c.must(t, archiveQuery, map[string]any{"ids": some}, &data)
		text += indented(t, data)
	}
	return text, known
}

func indented(t *testing.T, data json.RawMessage) string {
	t.Helper()
	text, err := json.MarshalIndent(data, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An export, an erasure and an import of the export restore the same answers, and a producer that repeats an event
// still notifies nobody twice.
func TestExportRoundTrip(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	runs := fillArchive(t, databaseURL)
	p := serve(t, databaseURL, "--drain-delay", "0s")
	before, ids := archivedAnswers(t, p, "ada", nil)
	others, _ := archivedAnswers(t, p, "bela", nil)
	if len(ids) < 25 || !strings.Contains(before, `"SENT"`) || !strings.Contains(before, `"SUPPRESSED"`) {
		t.Fatalf("there is not enough to export:\n%s", before)
	}

	file := filepath.Join(t.TempDir(), "ada.jsonl")
	exported := complete(t, nil, "export", "--user", "ada", "--out", file, "--database-url", databaseURL)
	exported.check(t, 0, "lines exported: ")
	text := readFile(t, file)
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	conn := connect(t, databaseURL)
	backend := backendOf(t, p)
	var erased struct{ EraseUser struct{ ErasedUserID string } }
	backend.must(t, `mutation { eraseUser(input: {userId: "ada"}) { erasedUserId userErrors { code } } }`, nil, &erased)
	if got, want := erased.EraseUser.ErasedUserID, "ada"; got != want {
		t.Errorf("erased %q, want %q", got, want)
	}
	if empty, _ := archivedAnswers(t, p, "ada", ids); strings.Contains(empty, "belfry#1") {
		t.Error("the erasure has left something")
	}
	lines := strings.Count(text, "\n")
	complete(t, nil, "import", file, "--database-url", databaseURL).
		check(t, 0, fmt.Sprintf("imported %d (%d new, 0 already there, 0 bad)", lines, lines))
	checkRestored := func(what string) {
		t.Helper()
		after, _ := archivedAnswers(t, p, "ada", ids)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("answers %s (-before +after):\n%s", what, diff)
		}
		if bela, _ := archivedAnswers(t, p, "bela", nil); bela != others {
			t.Errorf("another user's answers have changed %s", what)
		}
	}
	checkRestored("after the import")
	again := complete(t, nil, "export", "--user", "ada", "--database-url", databaseURL)
	if diff := cmp.Diff(text, again.stdout); diff != "" {
		t.Errorf("a second export (-first +second):\n%s", diff)
	}
	complete(t, nil, "import", file, "--database-url", databaseURL).
		check(t, 0, fmt.Sprintf("imported %d (0 new, %d already there, 0 bad)", lines, lines))
	checkRestored("after another import")
	if n := count(t, conn, `SELECT count(*) FROM push_queue`); n != 0 {
		t.Errorf("%d pushes wait to be planned, want none", n)
	}
	checkRepeats(t, backend, runs, ids)
	checkRestored("after the events were dispatched again")
}

// checkRepeats dispatches all events once more: but for the category that ada has muted, everybody has them.
func checkRepeats(t *testing.T, backend *client, runs, ids []string) {
	t.Helper()
	unknown := 0
	for i, run := range runs {
		category := []string{"ci", "reviews", "quiet", "noise"}[i%4]
		var data struct{ Dispatch struct{ Results []result } }
		backend.must(t, dispatchArchived, map[string]any{"run": run, "category": category, "data": map[string]any{"n": i + 1}}, &data)
		for _, r := range data.Dispatch.Results {
			want := inbox.Duplicate
			if category == "noise" && r.Recipient == "ada" {
				want = inbox.Muted
			}
			if r.Status != string(want) {
				t.Errorf("%s to %s: got %s, want %s", run, r.Recipient, r.Status, want)
			}
			if r.Recipient == "ada" && want == inbox.Duplicate && !slices.Contains(ids, r.NotificationID) {
				unknown++
			}
		}
	}
	if unknown != 1 {
		t.Errorf("%d events answer with a notification that is not there, want the one that was deleted", unknown)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

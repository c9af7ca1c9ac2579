package main

import (
	"regexp"
	"strings"
	"testing"

	"belfry/storage/storagetest"
)

// From a device's registration to what operators see of its push: four programs, as they are run for real.
func TestServePushes(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	sim := start(t, nil, "expo-sim", "--listen", "127.0.0.1:0")
	expoURL := sim.waitFor(sim.stdout, expoSimLine)
	p := serve(t, databaseURL, "--expo-url", expoURL, "--drain-delay", "0s")
	producer := backendOf(t, p)
	ada := newClient(t, p.baseURL(), signed(t, "ada", ""))
	ada.must(t, `mutation { registerDevice(input: {provider: EXPO, token: "ExponentPushToken[ada]", platform: IOS}) { userErrors { code } } }`, nil, &struct{}{})
	results, err := producer.dispatch(t.Context(), "run", "ada", "bela")
	if err != nil || len(results) != 2 {
		t.Fatalf("dispatch: %+v, %v", results, err)
	}
	list := func() string {
		return complete(t, nil, "push", "ls", "--user", "ada", "--database-url", databaseURL).stdout
	}
	eventually(t, "the push is sent", func() bool { return strings.Contains(list(), " sent ") })
	line := regexp.MustCompile(`(?m)^([0-9a-f-]{36}) .* EXPO +sent +-$`).FindStringSubmatch(list())
	if line == nil {
		t.Fatalf("push ls:\n%s", list())
	}
	for _, id := range []string{line[1], results[0].NotificationID} {
		shown := complete(t, nil, "push", "show", id, "--database-url", databaseURL)
		if shown.code != 0 || !strings.Contains(shown.stdout, "state         sent") || !strings.Contains(shown.stdout, line[1]) {
			t.Errorf("push show %s: exit code %d\n%s%s", id, shown.code, shown.stdout, shown.stderr)
		}
	}
	if _, text, err := newClient(t, expoURL, "").get(t.Context(), "/deliveries"); err != nil || strings.Count(text, `"token": "ExponentPushToken[ada]"`) != 1 {
		t.Errorf("what the phone got: %v\n%s", err, text)
	}
	for _, args := range [][]string{
		{"push"}, {"push", "ls"}, {"push", "show"}, {"push", "show", "garbage", "--database-url", databaseURL}, {"push", "ls", "--user", "ada"},
	} {
		if got := complete(t, nil, args...); got.code != exitUsage {
			t.Errorf("%v: exit code %d, want %d: %s", args, got.code, exitUsage, got.stderr)
		}
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

package main

import (
	"testing"
	"time"

	"belfry/storage/storagetest"
)

// How long activities are kept that do not say so themselves is the operator's to say; by default for ever.
func TestActivityTTL(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	for ttl, want := range map[string]time.Duration{"": 0, "36h": 36 * time.Hour} {
		p := start(t, append(secretVariable[:1:1], "BELFRY_ACTIVITY_TTL="+ttl),
			"serve", "--database-url", databaseURL, "--listen", "127.0.0.1:0", "--drain-delay", "0s")
		var data struct {
			RecordActivity struct {
				ActivityEdge struct {
					Node struct {
						CreatedAt time.Time
						ExpiresAt *time.Time
					}
				}
			}
		}
		backendOf(t, p).must(t, `mutation { recordActivity(input: {userId: "ada", verb: "opened"}) {
			activityEdge { node { createdAt expiresAt } } } }`, nil, &data)
		node := data.RecordActivity.ActivityEdge.Node
		switch {
		case (want == 0) != (node.ExpiresAt == nil):
			t.Errorf("with %q: got %v", ttl, node.ExpiresAt)
		case want > 0 && node.ExpiresAt.Sub(node.CreatedAt) != want:
			t.Errorf("with %q: got %s, want %s after %s", ttl, node.ExpiresAt, want, node.CreatedAt)
		}
		if code := p.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	for _, command := range [][]string{
		{"dev", "--activity-ttl=-1h", "--data", t.TempDir()}, {"serve", "--activity-ttl=-1h", "--database-url", databaseURL},
	} {
		complete(t, secretVariable, command...).check(t, exitUsage, "activity-ttl must be 0 or more")
	}
}

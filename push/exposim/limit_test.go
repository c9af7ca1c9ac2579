package exposim_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/push/exposim"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	ids := func(n int) string { return `{"ids":["` + strings.Repeat(`x","`, n-1) + `x"]}` }
	double := `[` + to("a") + `,{"to":["ExponentPushToken[b]"` + strings.Repeat(`,"ExponentPushToken[b]"`, 99) + `]}]`
	tests := []struct {
		name, path, body, code string
		status                 int
	}{
		{"100 messages", sendPath, many(100), "", 200},
		{"101 messages", sendPath, many(101), "PUSH_TOO_MANY_NOTIFICATIONS", 400},
		{"101 recipients", sendPath, double, "PUSH_TOO_MANY_NOTIFICATIONS", 400},
		{"1,000 receipts", receiptsPath, ids(1000), "", 200},
		{"1,001 receipts", receiptsPath, ids(1001), "PUSH_TOO_MANY_RECEIPTS", 400},
		{"no ids", receiptsPath, `{}`, "VALIDATION_ERROR", 400},
		{"ids that are none", receiptsPath, `{"ids":[1]}`, "VALIDATION_ERROR", 400},
		{"two projects", sendPath, `[` + to("shop:a") + `,` + to("bank:b") + `]`, "PUSH_TOO_MANY_EXPERIENCE_IDS", 400},
		{"one project", sendPath, `[` + to("shop:a") + `,` + to("shop:b") + `]`, "", 200},
	}
	for _, tt := range tests {
		status, text := post(t, exposim.New(exposim.Config{}), tt.path, tt.body)
		if status != tt.status || tt.code != "" && code(t, text) != tt.code {
			t.Errorf("%s: HTTP %d: %.200s", tt.name, status, text)
		}
	}
	_, text := post(t, exposim.New(exposim.Config{}), sendPath, `[`+to("shop:a")+`,`+to("bank:b")+`]`)
	if want := `"details":{"@belfry/bank":["ExponentPushToken[bank:b]"],"@belfry/shop":["ExponentPushToken[shop:a]"]}`; !strings.Contains(text, want) {
		t.Errorf("%s lacks %s", text, want)
	}
}

// A project may send 600 messages at once, and then 600 a second; another project has its own.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{})
		send := func(body string, want int) {
			t.Helper()
			if status, text := post(t, sim, sendPath, body); status != want {
				t.Errorf("HTTP %d, want %d: %.200s", status, want, text)
			}
		}
		for range 6 {
			send(many(100), 200)
		}
		send(to("a"), 429)
		send(to("shop:a"), 200)
		sim.Advance(100 * time.Millisecond)
		send(many(60), 200)
		send(to("a"), 429)
		<-time.After(time.Hour)
		for range 6 {
			send(many(100), 200)
		}
		send(to("a"), 429)
	})
	sim := exposim.New(exposim.Config{Limit: -1})
	for range 20 {
		tickets(t, sim, many(100))
	}
	if n := sim.Stats().Messages; n != 2000 {
		t.Errorf("%d messages", n)
	}
}

// Receipts appear after their delay, are there for a day, and are those of this run.
func TestReceipts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := exposim.New(exposim.Config{ReceiptDelay: 15 * time.Minute})
		list := tickets(t, sim, `[`+to("a")+`,`+to("b-gone")+`,`+to("c-lost")+`]`)
		ids := []string{list[0].ID, list[1].ID, list[2].ID, "x", "01975b8d-8352-7beb-a3f0-ca195f91842c"}
		want := map[string]ticket{ids[0]: {Status: "ok"}, ids[1]: {Status: "error", Message: "A message of the simulator."}}
		gone := want[ids[1]]
		gone.Details.Error = "DeviceNotRegistered"
		want[ids[1]] = gone
		for _, step := range []struct {
			by   time.Duration
			want map[string]ticket
		}{
			{15*time.Minute - time.Millisecond, map[string]ticket{}},
			{time.Millisecond, want},
			{23*time.Hour + 45*time.Minute - time.Millisecond, want},
			{time.Millisecond, map[string]ticket{}},
		} {
			sim.Advance(step.by)
			if diff := cmp.Diff(step.want, receipts(t, sim, ids...)); diff != "" {
				t.Errorf("after another %s (-want +got):\n%s", step.by, diff)
			}
		}
		other := exposim.New(exposim.Config{})
		tickets(t, other, many(10))
		if got := receipts(t, other, tickets(t, sim, to("a"))[0].ID); len(got) > 0 {
			t.Errorf("another simulator knows %v", got)
		}
	})
}

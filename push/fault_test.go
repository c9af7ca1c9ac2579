package push_test

import (
	"maps"
	"testing"
	"time"

	"belfry/inbox"
	"belfry/push"
	"belfry/push/expo"
	"belfry/push/exposim"
)

// both is the ledger of a push to a1 and a2, with one state.
func both(title, state string) map[string]string {
	return map[string]string{"a1: " + title: state, "a2: " + title: state}
}

// What a whole request meets. What the provider may have taken is never sent again, and the next message
// goes out all the same.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault exposim.Fault
		state string
		shown bool // the first message
	}{
		{"T-65 500 after having accepted", exposim.ServerError, "failed INTERNAL_SERVER_ERROR", true},
		{"T-65 502 of HTML after having accepted", exposim.BadGateway, "failed http_502", true},
		{"T-65 503 of HTML after having accepted", exposim.Unavailable, "failed http_503", true},
		{"T-65 504 of HTML after having accepted", exposim.GatewayTimeout, "failed http_504", true},
		{"T-65 cut off after having accepted", exposim.Cut, "failed connection_lost", true},
		{"T-65 reset", exposim.Reset, "failed connection_lost", false},
		{"T-65 a body that hangs", exposim.Slow, "failed timeout", true},
		{"T-65 200 of HTML", exposim.HTML, "failed bad_response", true},
		{"T-65 200 with errors", exposim.Errors, "failed INTERNAL_SERVER_ERROR", true},
		{"T-65 half of an answer", exposim.Garbage, "failed bad_response", true},
		{"T-65 no answer", exposim.Empty, "failed bad_response", true},
		{"one ticket too few", exposim.Short, "failed ticket_mismatch", true},
		{"one ticket too many", exposim.Long, "failed ticket_mismatch", true},
		{"tickets as a map", exposim.Array, "failed bad_response", true},
		{"T-65 429 is not ambiguous", exposim.TooManyRequests, "delivered", true},
		{"400, but of no message", exposim.BadRequest, "delivered", true},
		{"413, but of no message", exposim.TooLarge, "delivered", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.register(t, "a", "a1", "a2")
			client := expo.Config{}
			if tt.fault == exposim.Slow {
				client.Timeout = time.Second
			}
			r.sim.FailSend(tt.fault)
			r.start(t, push.Config{Senders: map[inbox.Provider]push.Sender{inbox.ProviderExpo: r.expo(t, client)}})
			r.dispatch(t, "first", "a")
			r.settle(t)
			r.dispatch(t, "second", "a")
			r.settle(t)
			want := both("first", tt.state)
			maps.Copy(want, both("second", "delivered"))
			r.wantLines(t, want)
			shown := []string{"a1: second", "a2: second"}
			if tt.shown {
				shown = append(shown, "a1: first", "a2: first")
			}
			r.wantShown(t, shown...)
		})
	}
}

// A refused access token fails one batch. The others wait until somebody may have looked after it.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault exposim.Fault
		state string
	}{
		"401": {exposim.Unauthorized, "failed invalid_token"},
		"403": {exposim.Forbidden, "failed UNAUTHORIZED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.register(t, "a", "a1", "a2")
			r.sim.FailSend(tt.fault)
			r.start(t, push.Config{})
			r.dispatch(t, "first", "a")
			r.settle(t)
			r.wantLines(t, both("first", tt.state))
			r.dispatch(t, "second", "a")
			want := both("first", tt.state)
			maps.Copy(want, both("second", "queued paused"))
			eventually(t, "the second waits", func() bool { return maps.Equal(want, r.lines(t)) })
			r.wantShown(t)
		})
	}
}

// A provider that never answers costs each message one try and the worker nothing.
func TestT65Timeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	for range 3 {
		r.sim.FailSend(exposim.Slow)
	}
	// The worker's own timeout, shorter than the client's.
	r.start(t, push.Config{SendTimeout: time.Second})
	want := map[string]string{}
	for _, title := range []string{"first", "second", "third"} {
		r.dispatch(t, title, "a")
		r.settle(t)
		maps.Copy(want, both(title, "failed timeout"))
	}
	r.dispatch(t, "fourth", "a")
	r.settle(t)
	maps.Copy(want, both("fourth", "delivered"))
	r.wantLines(t, want)
	r.wantAtMostOnce(t)
}

// Nobody listens: nothing was taken, so all waits for its time.
func TestNotConnected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "a2")
	r.server.Close()
	r.start(t, push.Config{})
	r.dispatch(t, "first", "a")
	want := both("first", "queued not_connected")
	eventually(t, "the messages wait", func() bool { return maps.Equal(want, r.lines(t)) })
}

// What the tickets and receipts of single messages say, in one batch. Unknown codes are kept as they came.
func TestMessageFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	states := map[string]string{
		"fine": "delivered", "x-unregistered": "failed DeviceNotRegistered", "x-refused": "failed FullMoon",
		"x-codeless": "failed no_code", "x-status": "failed unknown_status", "x-noid": "unknown",
		"x-gone": "receipt_error DeviceNotRegistered", "x-big": "receipt_error MessageTooBig",
		"x-rate": "receipt_error MessageRateExceeded", "x-mismatch": "receipt_error MismatchSenderId",
		"x-credentials": "receipt_error InvalidCredentials", "x-developer": "receipt_error DeveloperError",
		"x-expo": "receipt_error ExpoError", "x-fcm": "receipt_error ProviderError",
		"x-apns": "receipt_error ProviderError", "x-strange": "receipt_error FullMoon", "x-lost": "unknown",
	}
	want := map[string]string{}
	for name, state := range states {
		r.register(t, "a", name)
		want[key(token(name), "hello")] = state
	}
	r.start(t, push.Config{GiveUpAfter: 3 * time.Second})
	r.dispatch(t, "hello", "a")
	r.settle(t)
	r.wantLines(t, want)
	r.wantShown(t, "fine: hello", "x-noid: hello")

	// A token that is no good switches its device off, softly, and no other code does.
	devices, err := r.store.Devices(t.Context(), []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices["a"] {
		isGone := d.Token == token("x-unregistered") || d.Token == token("x-gone")
		if d.Enabled() == isGone {
			t.Errorf("%s: enabled: got %v, want %v", d.Token, d.Enabled(), !isGone)
		}
		if isGone && *d.DisabledReason != "DeviceNotRegistered" {
			t.Errorf("%s: got reason %s, want DeviceNotRegistered", d.Token, *d.DisabledReason)
		}
	}
	for _, detail := range []string{"FCM server", "__debug", "The moon is full"} {
		if !value[bool](t, r, `SELECT EXISTS (SELECT FROM push_deliveries WHERE strpos(detail, $1) > 0)`, detail) {
			t.Errorf("no line's detail holds %q", detail)
		}
	}
	if value[bool](t, r, `SELECT EXISTS (SELECT FROM push_deliveries WHERE strpos(detail, 'PushToken[') > 0)`) {
		t.Error("a line's detail holds a token")
	}
}

// A device that got too much is left alone for a while; the message was not taken.
func TestRateOfOneDevice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(t, "a", "a1", "x-exceeded")
	r.start(t, push.Config{})
	r.dispatch(t, "hello", "a")
	want := map[string]string{"a1: hello": "delivered", "x-exceeded: hello": "queued MessageRateExceeded"}
	eventually(t, "one is delivered, one waits", func() bool { return maps.Equal(want, r.lines(t)) })
	if value[bool](t, r, `SELECT EXISTS (SELECT FROM push_deliveries WHERE state = 'queued' AND due_at < now() + interval '30 s')`) {
		t.Error("the message is tried again within half a minute")
	}
}

// A device that was switched off gets nothing, and all again once it has registered.
func TestRevived(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x-unregistered", "x-gone"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.register(t, "a", name)
			r.start(t, push.Config{})
			r.dispatch(t, "first", "a")
			r.settle(t)
			eventually(t, "the device is off", func() bool {
				return value[bool](t, r, `SELECT disabled_at IS NOT NULL FROM devices`)
			})
			r.dispatch(t, "second", "a")
			r.settle(t)
			lines := r.lines(t)
			if _, ok := lines[key(token(name), "second")]; ok || len(lines) != 1 {
				t.Errorf("got lines %v, want that of the first alone", lines)
			}
			r.register(t, "a", name)
			r.dispatch(t, "third", "a")
			eventually(t, "the third was sent", func() bool {
				_, ok := r.lines(t)[key(token(name), "third")]
				return ok
			})
		})
	}
}

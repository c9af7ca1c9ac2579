package resolvers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

const registerMutation = `mutation ($input: RegisterDeviceInput!) { registerDevice(input: $input) {
  device { id provider platform name enabled disabledReason } userErrors { code field } } }`

type registered struct {
	RegisterDevice struct {
		Device *struct {
			ID, Provider   string
			Platform, Name *string
			Enabled        bool
			DisabledReason *string
		}
		UserErrors []userError
	}
}

// register registers an Expo token for a user and returns the device's id.
func (a *api) register(user, token string, more map[string]any) string {
	a.t.Helper()
	input := map[string]any{"provider": "EXPO", "token": token}
	for k, v := range more {
		input[k] = v
	}
	var data registered
	a.must(as(user), registerMutation, map[string]any{"input": input}, &data)
	if data.RegisterDevice.Device == nil {
		a.t.Fatalf("not registered: %+v", data.RegisterDevice.UserErrors)
	}
	return data.RegisterDevice.Device.ID
}

// devices returns a user's devices in words: the name, and why it is off.
func (a *api) devices(user string) string {
	a.t.Helper()
	var data struct {
		Viewer struct {
			Devices []struct {
				Name           string
				Enabled        bool
				DisabledReason *string
			}
		}
	}
	a.must(as(user), `{ viewer { devices { name enabled disabledReason } } }`, nil, &data)
	var words []string
	for _, d := range data.Viewer.Devices {
		word := d.Name
		if !d.Enabled {
			word += " off: " + *d.DisabledReason
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func TestT61ATokenMovesToWhoRegistersIt(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const token = "ExponentPushToken[shared]"
	old := a.register("ada", token, map[string]any{"name": "ada's"})
	a.register("bela", token, map[string]any{"name": "bela's"})
	if got := a.devices("ada"); got != "" {
		t.Errorf("ada's devices: got %q, want none", got)
	}
	const unregister = `mutation ($id: ID!) { unregisterDevice(input: {id: $id}) { deletedId userErrors { code } } }`
	got := string(a.ask(as("ada"), unregister, map[string]any{"id": old}).Data)
	if want := `{"unregisterDevice":{"deletedId":null,"userErrors":[]}}`; got != want {
		t.Errorf("a late unregister: got %s, want %s", got, want)
	}
	if got := a.devices("bela"); got != "bela's" {
		t.Errorf("bela's devices: got %q", got)
	}
	mine := a.register("ada", "ExponentPushToken[own]", nil)
	got = string(a.ask(as("bela"), unregister, map[string]any{"id": mine}).Data)
	if want := `{"unregisterDevice":{"deletedId":null,"userErrors":[]}}`; got != want {
		t.Errorf("another's device: got %s, want %s", got, want)
	}
	got = string(a.ask(as("ada"), unregister, map[string]any{"id": mine}).Data)
	if want := `{"unregisterDevice":{"deletedId":"` + mine + `","userErrors":[]}}`; got != want {
		t.Errorf("one's own: got %s, want %s", got, want)
	}
}

func TestT69AnInstallationHasOneToken(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.register("ada", "ExponentPushToken[1]", map[string]any{"deviceId": "phone", "name": "first"})
	a.register("ada", "ExponentPushToken[2]", map[string]any{"deviceId": "phone", "name": "second"})
	if got, want := a.devices("ada"), "second, first off: Replaced"; got != want {
		t.Errorf("with a deviceId: got %q, want %q", got, want)
	}
	a.register("bela", "ExponentPushToken[3]", map[string]any{"name": "third"})
	a.register("bela", "ExponentPushToken[4]", map[string]any{"name": "fourth"})
	if got, want := a.devices("bela"), "fourth, third"; got != want {
		t.Errorf("without: got %q, want %q", got, want)
	}
	a.register("ada", "ExponentPushToken[1]", map[string]any{"deviceId": "phone", "name": "first"})
	if got, want := a.devices("ada"), "first, second off: Replaced"; got != want {
		t.Errorf("the first again: got %q, want %q", got, want)
	}
}

func TestDevicesRefuseBadInput(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for name, tt := range map[string]struct {
		input map[string]any
		want  []userError
	}{
		"empty token":                {map[string]any{"token": ""}, invalid("token")},
		"hyphen-less UUID":           {map[string]any{"token": "F5741A13BCDA434BA3165DC0E6FFA94F"}, invalid("token")},
		"long name":                  {map[string]any{"name": strings.Repeat("x", 129)}, large("name")},
		"long deviceId":              {map[string]any{"deviceId": strings.Repeat("x", 129)}, large("deviceId")},
		"web push without JSON":      {map[string]any{"provider": "WEB_PUSH"}, invalid("token")},
		"web push to plain http":     {map[string]any{"provider": "WEB_PUSH", "token": `{"endpoint":"http://a.example/","keys":{"p256dh":"x","auth":"y"}}`}, invalid("token")},
		"web push with a short auth": {map[string]any{"provider": "WEB_PUSH", "token": `{"endpoint":"https://a.example/","keys":{"p256dh":"x","auth":"y"}}`}, invalid("token")},
	} {
		input := map[string]any{"provider": "EXPO", "token": "ExponentPushToken[x]"}
		for k, v := range tt.input {
			input[k] = v
		}
		var data registered
		a.must(as("ada"), registerMutation, map[string]any{"input": input}, &data)
		if diff := cmp.Diff(tt.want, data.RegisterDevice.UserErrors); diff != "" || data.RegisterDevice.Device != nil {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := a.devices("ada"); got != "" {
		t.Errorf("something was written: %q", got)
	}
}

func TestThePushLedgerOfANotification(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	device := a.register("ada", "ExponentPushToken[1]", map[string]any{"platform": "IOS", "name": "phone"})
	id := a.dispatch("ada", map[string]any{"runId": "1"})
	const query = `query ($id: ID!) { node(id: $id) { ...on Notification { pushDeliveries { status error device { id name } sentAt settledAt } } } }`
	ledger := func(caller inbox.Caller) string { return string(a.ask(caller, query, map[string]any{"id": id}).Data) }
	if got, want := ledger(as("ada")), `{"node":{"pushDeliveries":[]}}`; got != want {
		t.Errorf("before it is planned: got %s, want %s", got, want)
	}
	queued, err := a.store.ClaimPushes(t.Context(), time.Minute)
	if err != nil || len(queued) != 1 {
		t.Fatalf("queued: %v, %v", queued, err)
	}
	if _, err := a.store.PlanPushes(t.Context(), []int64{queued[0].ID}, nil, true); err != nil {
		t.Fatal(err)
	}
	want := `{"node":{"pushDeliveries":[{"status":"QUEUED","error":null,"device":{"id":"` + device + `","name":"phone"},"sentAt":null,"settledAt":null}]}}`
	for _, caller := range []inbox.Caller{as("ada"), as("ops", inbox.ScopeRead)} {
		if diff := cmp.Diff(want, ledger(caller)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", caller.UserID, diff)
		}
	}
	if got := ledger(as("bela")); got != `{"node":null}` {
		t.Errorf("bela: got %s", got)
	}
	a.statements.reset()
	a.must(as("ada"), `{ viewer { notifications { edges { node { pushDeliveries { status } } } nodes { pushDeliveries { device { id } } } } } }`, nil, nil)
	if diff := cmp.Diff([]string{"FeedPage", "Ledger"}, a.statements.reset()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

// A device that is gone, or another's, reads as null.
func TestDevicesAsNodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.register("ada", "ExponentPushToken[1]", map[string]any{"name": "phone"})
	const query = `query ($id: ID!) { node(id: $id) { id ...on Device { name } } }`
	if got, want := string(a.ask(as("ada"), query, map[string]any{"id": id}).Data), `{"node":{"id":"`+id+`","name":"phone"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(a.ask(as("bela"), query, map[string]any{"id": id}).Data); got != `{"node":null}` {
		t.Errorf("bela: got %s", got)
	}
}

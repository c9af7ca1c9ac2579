package storage_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// anyTimes passes over times that the server makes.
var anyTimes = cmpopts.IgnoreFields(inbox.Device{}, "CreatedAt", "LastSeenAt")

func TestRegisterDevice(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	in := installed("one", "installation")
	in.Platform, in.Name = new(inbox.PlatformIOS), new("a phone")
	first := register(t, store, "a", in)
	want := &inbox.Device{
		UserID: "a", ID: first.ID, Provider: inbox.ProviderExpo, Token: in.Token, Platform: in.Platform,
		InstallationID: in.InstallationID, Name: in.Name,
	}
	if diff := cmp.Diff(want, first, anyTimes); diff != "" {
		t.Errorf("registered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]*inbox.Device{first}, devices(t, store, "a")); diff != "" {
		t.Errorf("devices (-registered +read):\n%s", diff)
	}

	in.Name = new("another name")
	again := register(t, store, "a", in)
	want.Name, want.CreatedAt = in.Name, first.CreatedAt
	if diff := cmp.Diff(want, again, cmpopts.IgnoreFields(inbox.Device{}, "LastSeenAt")); diff != "" {
		t.Errorf("registered again (-want +got):\n%s", diff)
	}
	if !again.LastSeenAt.After(first.LastSeenAt) {
		t.Errorf("last seen: got %s, want a time after %s", again.LastSeenAt, first.LastSeenAt)
	}
	if diff := cmp.Diff([]*inbox.Device{again}, devices(t, store, "a")); diff != "" {
		t.Errorf("devices (-registered +read):\n%s", diff)
	}
}

func TestDevicesInOrder(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	first, second := register(t, store, "a", phone("one")), register(t, store, "a", phone("two"))
	if diff := cmp.Diff([]*inbox.Device{second, first}, devices(t, store, "a")); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	first = register(t, store, "a", phone("one"))
	if diff := cmp.Diff([]*inbox.Device{first, second}, devices(t, store, "a")); diff != "" {
		t.Errorf("devices after the first was seen again (-want +got):\n%s", diff)
	}
}

func TestUnregisterDevice(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	device := register(t, store, "a", phone("one"))
	for _, tt := range []struct {
		user string
		want bool
	}{{"b", false}, {"a", true}, {"a", false}} {
		got, err := store.UnregisterDevice(t.Context(), tt.user, device.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got != tt.want {
			t.Errorf("unregister by %s: got %v, want %v", tt.user, got, tt.want)
		}
	}
	if got := devices(t, store, "a"); len(got) != 0 {
		t.Errorf("got %d devices, want none", len(got))
	}
}

func TestRegisterRevives(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	first := register(t, store, "a", phone("one"))
	exec(t, conn, `UPDATE devices SET disabled_at = now(), disabled_reason = 'DeviceNotRegistered'`)
	off := devices(t, store, "a")[0]
	if diff := cmp.Diff(new("DeviceNotRegistered"), off.DisabledReason); diff != "" || off.Enabled() {
		t.Errorf("reason (-want +got):\n%s\nenabled: got %v, want false", diff, off.Enabled())
	}
	again := register(t, store, "a", phone("one"))
	if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(inbox.Device{}, "LastSeenAt")); diff != "" {
		t.Errorf("revived (-first +again):\n%s", diff)
	}
	if !again.LastSeenAt.After(first.LastSeenAt) {
		t.Errorf("last seen: got %s, want a time after %s", again.LastSeenAt, first.LastSeenAt)
	}
}

func TestDeviceMoves(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	old := register(t, store, "a", phone("shared"))
	// A push that was planned for A before the phone changed hands.
	place(t, store, event("run", "a"))
	planPushes(t, store)
	device := register(t, store, "b", phone("shared"))

	t.Run("T-61 a token that another user registers moves", func(t *testing.T) {
		if got := devices(t, store, "a"); len(got) != 0 {
			t.Errorf("A: got %d devices, want none", len(got))
		}
		if diff := cmp.Diff([]*inbox.Device{device}, devices(t, store, "b")); diff != "" {
			t.Errorf("B's devices (-want +got):\n%s", diff)
		}
		if device.ID == old.ID {
			t.Error("the device has the id that A knows")
		}
	})
	t.Run("T-61 what was planned for A is not sent to B", func(t *testing.T) {
		var tokens []string
		for _, d := range claimDeliveries(t, store, time.Minute) {
			tokens = append(tokens, d.Token)
		}
		if diff := cmp.Diff([]string{""}, tokens); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
	t.Run("T-61 a late unregister by A touches nothing of B's", func(t *testing.T) {
		for _, id := range []inbox.UUID{old.ID, device.ID} {
			if found, err := store.UnregisterDevice(t.Context(), "a", id); err != nil || found {
				t.Errorf("got %v, %v, want false", found, err)
			}
		}
		if diff := cmp.Diff([]*inbox.Device{device}, devices(t, store, "b")); diff != "" {
			t.Errorf("B's devices (-want +got):\n%s", diff)
		}
	})
}

// Two users register the same tokens, each many at once.
func TestT61DeviceMovesConcurrently(t *testing.T) {
	t.Parallel()
	const goroutines, tokens, rounds = 16, 3, 20
	store := storagetest.New(t)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				in := phone(fmt.Sprint("token", (g+i)%tokens))
				if _, ok, err := store.RegisterDevice(t.Context(), fmt.Sprint("user", g%2), in); err != nil || !ok {
					t.Errorf("register: got %v, %v, want true", ok, err)
				}
			}
		})
	}
	wg.Wait()
	owners := map[string]int{}
	for _, user := range []string{"user0", "user1"} {
		for _, d := range devices(t, store, user) {
			owners[d.Token]++
		}
	}
	want := map[string]int{phone("token0").Token: 1, phone("token1").Token: 1, phone("token2").Token: 1}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners of each token (-want +got):\n%s", diff)
	}
}

// enabled returns which of a user's tokens are on, and why the others are not.
func enabled(t testing.TB, store *storage.Store, userID string) map[string]string {
	t.Helper()
	states := map[string]string{}
	for _, d := range devices(t, store, userID) {
		states[d.Token] = "on"
		if d.DisabledReason != nil {
			states[d.Token] = *d.DisabledReason
		}
	}
	return states
}

func TestDeviceReplaced(t *testing.T) {
	t.Parallel()
	one, two := phone("one").Token, phone("two").Token
	for name, tt := range map[string]struct {
		first, second inbox.DeviceInput
		secondUser    string
		want          map[string]string // of user a
	}{
		"T-69 same deviceId, new token": {
			installed("one", "x"), installed("two", "x"), "a", map[string]string{one: "Replaced", two: "on"},
		},
		"T-69 without deviceId": {phone("one"), phone("two"), "a", map[string]string{one: "on", two: "on"}},
		"T-69 other deviceId":   {installed("one", "x"), installed("two", "y"), "a", map[string]string{one: "on", two: "on"}},
		"same token, new deviceId": {
			installed("one", "x"), installed("one", "y"), "a", map[string]string{one: "on"},
		},
		"another user's deviceId": {installed("one", "x"), installed("two", "x"), "b", map[string]string{one: "on"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storagetest.New(t)
			register(t, store, "a", tt.first)
			register(t, store, tt.secondUser, tt.second)
			if diff := cmp.Diff(tt.want, enabled(t, store, "a")); diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("T-69 and back to the first token", func(t *testing.T) {
		t.Parallel()
		store := storagetest.New(t)
		for _, name := range []string{"one", "two", "one"} {
			register(t, store, "a", installed(name, "x"))
		}
		if diff := cmp.Diff(map[string]string{one: "on", two: "Replaced"}, enabled(t, store, "a")); diff != "" {
			t.Errorf("devices (-want +got):\n%s", diff)
		}
	})
}

func TestDeviceLimit(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	for i := range storage.MaxDevices {
		register(t, store, "a", installed(fmt.Sprint(i), fmt.Sprint(i)))
	}
	other := register(t, store, "b", phone("other"))
	before := devices(t, store, "a")
	for name, in := range map[string]inbox.DeviceInput{
		"a new one": phone("new"), "another user's": phone("other"), "one with a known deviceId": installed("newer", "7"),
	} {
		if device, ok, err := store.RegisterDevice(t.Context(), "a", in); err != nil || ok || device != nil {
			t.Errorf("%s: got %v, %v, %v, want nil, false", name, device, ok, err)
		}
	}
	// A refusal changes nothing; least of all does it switch off what was to be replaced.
	if diff := cmp.Diff(before, devices(t, store, "a")); diff != "" {
		t.Errorf("devices (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]*inbox.Device{other}, devices(t, store, "b")); diff != "" {
		t.Errorf("B's devices (-before +after):\n%s", diff)
	}
	register(t, store, "a", installed("7", "7")) // seen again
	if _, err := store.UnregisterDevice(t.Context(), "a", before[0].ID); err != nil {
		t.Fatal(err)
	}
	register(t, store, "a", phone("new"))
}

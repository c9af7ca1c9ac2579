package storage_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// Two tokens of one installation, registered at once as an app does that is told of a new one while it
// starts: one stays on.
func TestT69DeviceReplacedConcurrently(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	for i := range 30 {
		user, tokens := fmt.Sprint("user", i), []string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b"), fmt.Sprint(i, "c")}
		if i%2 == 0 {
			for _, token := range tokens {
				register(t, store, user, installed(token, "x"))
			}
		}
		var wg sync.WaitGroup
		for _, token := range tokens {
			wg.Go(func() {
				if _, ok, err := store.RegisterDevice(t.Context(), user, installed(token, "x")); err != nil || !ok {
					t.Errorf("register: got %v, %v, want true", ok, err)
				}
			})
		}
		wg.Wait()
		counts := map[string]int{}
		for _, state := range enabled(t, store, user) {
			counts[state]++
		}
		if diff := cmp.Diff(map[string]int{"on": 1, "Replaced": 2}, counts); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestDeviceLimitConcurrently(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	var wg sync.WaitGroup
	for i := range storage.MaxDevices + 20 {
		wg.Go(func() {
			if _, _, err := store.RegisterDevice(t.Context(), "a", phone(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := len(devices(t, store, "a")), storage.MaxDevices; got != want {
		t.Errorf("got %d devices, want %d", got, want)
	}
}

// A phone whose token changes day by day never locks its user out, and leaves a bounded trail.
func TestDeviceLimitMakesRoom(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	for i := range storage.MaxDevices + 20 {
		d, ok, err := store.RegisterDevice(t.Context(), "a", inbox.DeviceInput{
			Provider: inbox.ProviderExpo, Token: fmt.Sprintf("ExponentPushToken[%d]", i), InstallationID: new("phone"),
		})
		if err != nil || !ok || !d.Enabled() {
			t.Fatalf("registration %d: got %+v, %t, %v", i, d, ok, err)
		}
	}
	list := devices(t, store, "a")
	on := 0
	for _, d := range list {
		if d.Enabled() {
			on++
		}
	}
	if len(list) != storage.MaxDevices || on != 1 {
		t.Errorf("got %d devices, %d of them on, want %d and 1", len(list), on, storage.MaxDevices)
	}
}

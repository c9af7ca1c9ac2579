package storage_test

import (
	"testing"
	"time"

	"belfry/inbox"
	"belfry/storage"
)

// phone returns a device with Expo's token of that name.
func phone(name string) inbox.DeviceInput {
	return inbox.DeviceInput{Provider: inbox.ProviderExpo, Token: "ExponentPushToken[" + name + "]"}
}

// installed returns a phone with the client's own id.
func installed(name, installationID string) inbox.DeviceInput {
	in := phone(name)
	in.InstallationID = &installationID
	return in
}

// register registers a device, for which there must be room.
func register(t testing.TB, store *storage.Store, userID string, in inbox.DeviceInput) *inbox.Device {
	t.Helper()
	device, ok, err := store.RegisterDevice(t.Context(), userID, in)
	if err != nil || !ok {
		t.Fatalf("register a device: got %v, %v, want true", ok, err)
	}
	return device
}

// devices returns a user's devices.
func devices(t testing.TB, store *storage.Store, userID string) []*inbox.Device {
	t.Helper()
	found, err := store.Devices(t.Context(), []string{userID})
	if err != nil {
		t.Fatal(err)
	}
	return found[userID]
}

// claimPushes claims what is to be planned.
func claimPushes(t testing.TB, store *storage.Store, lease time.Duration) []storage.QueuedPush {
	t.Helper()
	claimed, err := store.ClaimPushes(t.Context(), lease)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// idsOf returns the ids of queued notifications.
func idsOf(queued []storage.QueuedPush) []int64 {
	ids := make([]int64, len(queued))
	for i, q := range queued {
		ids[i] = q.ID
	}
	return ids
}

// planPushes plans all that is queued by the users' own settings and returns how many deliveries that makes.
func planPushes(t testing.TB, store *storage.Store) int {
	t.Helper()
	planned := 0
	for {
		queued := claimPushes(t, store, time.Minute)
		if len(queued) == 0 {
			return planned
		}
		n, err := store.PlanPushes(t.Context(), idsOf(queued), nil, true)
		if err != nil {
			t.Fatal(err)
		}
		planned += n
	}
}

// claimDeliveries claims what is to be sent by Expo.
func claimDeliveries(t testing.TB, store *storage.Store, lease time.Duration) []storage.Delivery {
	t.Helper()
	claimed, err := store.ClaimDeliveries(t.Context(), inbox.ProviderExpo, lease)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// claimReceipts claims whose receipts are to be looked for.
func claimReceipts(t testing.TB, store *storage.Store, lease time.Duration) []storage.Sent {
	t.Helper()
	claimed, err := store.ClaimReceipts(t.Context(), inbox.ProviderExpo, lease)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// sending dispatches an event to one user with devices and returns its deliveries, claimed to be sent.
func sending(t testing.TB, store *storage.Store, run, userID string) []storage.Delivery {
	t.Helper()
	place(t, store, event(run, userID))
	planPushes(t, store)
	return claimDeliveries(t, store, time.Minute)
}

// reportSends and reportReceipts write down what became of deliveries.
func reportSends(t testing.TB, store *storage.Store, reports ...storage.Report) {
	t.Helper()
	if err := store.ReportSends(t.Context(), reports); err != nil {
		t.Fatal(err)
	}
}

func reportReceipts(t testing.TB, store *storage.Store, reports ...storage.Report) {
	t.Helper()
	if err := store.ReportReceipts(t.Context(), reports); err != nil {
		t.Fatal(err)
	}
}

package storage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

func putAccount(t *testing.T, store *storage.Store, in inbox.AccountInput) *inbox.Account {
	t.Helper()
	if err := store.PutAccount(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	accounts, err := store.Accounts(t.Context(), []string{in.UserID, "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if len(accounts) != 1 {
		t.Errorf("got %d accounts, want 1", len(accounts))
	}
	return accounts[in.UserID]
}

func TestPutAccount(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	first := putAccount(t, store, inbox.AccountInput{UserID: "u", DisplayName: "First"})
	if age := time.Since(first.CreatedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("created at: got %s, want the server's time", first.CreatedAt)
	}
	for _, tt := range []struct {
		name string
		in   inbox.AccountInput
		want inbox.Account
	}{
		{
			"all fields, and the time stays",
			inbox.AccountInput{UserID: "u", Email: new("u@example.com"), DisplayName: "Ü", AvatarURL: new("https://example.com/u")},
			inbox.Account{
				UserID: "u", Email: new("u@example.com"), DisplayName: "Ü", AvatarURL: new("https://example.com/u"),
				CreatedAt: first.CreatedAt,
			},
		},
		{
			"a time, and nulls replace what was there",
			inbox.AccountInput{UserID: "u", DisplayName: "Third", CreatedAt: &moment},
			inbox.Account{UserID: "u", DisplayName: "Third", CreatedAt: moment},
		},
		{
			"no time again",
			inbox.AccountInput{UserID: "u", DisplayName: "Fourth"},
			inbox.Account{UserID: "u", DisplayName: "Fourth", CreatedAt: moment},
		},
	} {
		if diff := cmp.Diff(&tt.want, putAccount(t, store, tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, recorder := traced(t, databaseURL)
	both := putAccount(t, store, inbox.AccountInput{UserID: "both", DisplayName: "Both"})
	account := putAccount(t, store, inbox.AccountInput{UserID: "account", DisplayName: "Account"})
	dark := inbox.SettingsChange{Theme: inbox.Change[inbox.Theme]{Set: true, Value: new(inbox.ThemeDark)}}
	settings := map[string]*inbox.Settings{}
	for _, u := range []string{"both", "settings"} {
		var err error
		if settings[u], err = store.UpdateSettings(t.Context(), u, dark); err != nil {
			t.Fatal(err)
		}
	}
	recorder.take()
	got, err := storage.Ask(t.Context(), store, []string{"both", "account", "settings", "nobody", "both"}, func(b *storage.Batch, users []string) map[string]storage.Profile { return b.Profiles(users, false) })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]storage.Profile{
		"both":     {Account: both, Settings: settings["both"]},
		"account":  {Account: account, Settings: defaults("account")},
		"settings": {Settings: settings["settings"]},
		"nobody":   {Settings: defaults("nobody")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AccountsAndSettings"}, recorder.names()); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

package storage_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"belfry/inbox"
	"belfry/storage"
	"belfry/storage/storagetest"
)

// defaults are the settings of who has chosen nothing.
func defaults(userID string) *inbox.Settings {
	return &inbox.Settings{
		UserID: userID, Theme: inbox.ThemeSystem, Locale: "en", TimeZone: "UTC", EmailDigest: inbox.DigestNever,
	}
}

// exceptTime compares settings but for when they were changed.
var exceptTime = cmpopts.IgnoreFields(inbox.Settings{}, "UpdatedAt")

func TestUpdateSettings(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	want := defaults("u")
	steps := []struct {
		name   string
		change inbox.SettingsChange
		apply  func()
	}{
		{"nothing", inbox.SettingsChange{}, func() {}},
		{
			"one",
			inbox.SettingsChange{Theme: inbox.Change[inbox.Theme]{Set: true, Value: new(inbox.ThemeDark)}},
			func() { want.Theme = inbox.ThemeDark },
		},
		{
			"the others",
			inbox.SettingsChange{
				Locale:      inbox.Change[string]{Set: true, Value: new("pt-BR")},
				TimeZone:    inbox.Change[string]{Set: true, Value: new("Asia/Tokyo")},
				EmailDigest: inbox.Change[inbox.EmailDigest]{Set: true, Value: new(inbox.DigestDaily)},
			},
			func() { want.Locale, want.TimeZone, want.EmailDigest = "pt-BR", "Asia/Tokyo", inbox.DigestDaily },
		},
		{
			"the defaults of two",
			inbox.SettingsChange{Theme: inbox.Change[inbox.Theme]{Set: true}, Locale: inbox.Change[string]{Set: true}},
			func() { want.Theme, want.Locale = inbox.ThemeSystem, "en" },
		},
		{"a value that is not set", inbox.SettingsChange{Locale: inbox.Change[string]{Value: new("de")}}, func() {}},
	}
	var last time.Time
	for _, step := range steps {
		step.apply()
		got, err := store.UpdateSettings(t.Context(), "u", step.change)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, exceptTime); diff != "" {
			t.Errorf("%s: answer (-want +got):\n%s", step.name, diff)
		}
		if got.UpdatedAt == nil || !got.UpdatedAt.After(last) {
			t.Fatalf("%s: updated at: got %v, want it after %s", step.name, got.UpdatedAt, last)
		}
		last = *got.UpdatedAt
		stored, err := store.Settings(t.Context(), []string{"u", "nobody"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]*inbox.Settings{"u": got, "nobody": defaults("nobody")}, stored); diff != "" {
			t.Errorf("%s: stored (-answered +stored):\n%s", step.name, diff)
		}
	}
}

func TestSetPreference(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	set := func(category string, channel inbox.Channel, isEnabled bool) {
		t.Helper()
		p := inbox.Preference{Category: category, Channel: channel, Enabled: isEnabled}
		settings, ok, err := store.SetPreference(t.Context(), "u", p)
		if err != nil || !ok {
			t.Fatalf("got %v, %v", ok, err)
		}
		if settings.UpdatedAt == nil {
			t.Error("the settings have no time of change")
		}
		if diff := cmp.Diff(defaults("u"), settings, exceptTime); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
	}
	set("b", inbox.ChannelPush, false)
	set("a", inbox.ChannelPush, false)
	set("a", inbox.ChannelInApp, true)
	set("B", inbox.ChannelEmail, true)
	set("a", inbox.ChannelPush, true)
	got, err := storage.Ask(t.Context(), store, []string{"u", "nobody"}, (*storage.Batch).Preferences)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]*inbox.Preference{"u": {
		{Category: "B", Channel: inbox.ChannelEmail, Enabled: true},
		{Category: "a", Channel: inbox.ChannelInApp, Enabled: true},
		{Category: "a", Channel: inbox.ChannelPush, Enabled: true},
		{Category: "b", Channel: inbox.ChannelPush, Enabled: false},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("preferences (-want +got):\n%s", diff)
	}
}

// The last of inbox.MaxPreferences is stored, the next refused, and what is there can still change.
func TestPreferenceLimit(t *testing.T) {
	t.Parallel()
	databaseURL := storagetest.URL(t)
	store, conn := open(t, databaseURL), connect(t, databaseURL)
	exec(t, conn, `INSERT INTO preferences SELECT 'u', 'category ' || i, 'PUSH', true FROM generate_series(1, $1::int - 1) i`,
		inbox.MaxPreferences)
	for _, tt := range []struct {
		category string
		want     bool
	}{{"last", true}, {"one too many", false}, {"last", true}, {"category 1", true}} {
		p := inbox.Preference{Category: tt.category, Channel: inbox.ChannelPush}
		settings, ok, err := store.SetPreference(t.Context(), "u", p)
		if err != nil {
			t.Fatal(err)
		}
		if ok != tt.want || (settings != nil) != tt.want {
			t.Errorf("%s: got %v and settings %v, want %v", tt.category, ok, settings, tt.want)
		}
	}
	got, err := storage.Ask(t.Context(), store, []string{"u"}, (*storage.Batch).Preferences)
	if err != nil {
		t.Fatal(err)
	}
	off := 0
	for _, p := range got["u"] {
		if !p.Enabled {
			off++
		}
	}
	if diff := cmp.Diff(fmt.Sprint(inbox.MaxPreferences, 2), fmt.Sprint(len(got["u"]), off)); diff != "" {
		t.Errorf("preferences, and those switched off (-want +got):\n%s", diff)
	}
	p := inbox.Preference{Category: "c", Channel: inbox.ChannelPush}
	if _, ok, err := store.SetPreference(t.Context(), "other", p); !ok || err != nil {
		t.Errorf("another user: got %v, %v", ok, err)
	}
}

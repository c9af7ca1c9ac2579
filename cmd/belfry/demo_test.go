package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

// Whatever is wrong with an event would end every first start.
func TestDemoEvents(t *testing.T) {
	t.Parallel()
	events, _ := readDemo(t)
	runs := map[string]bool{}
	for _, e := range events {
		if runs[e.RunID] {
			t.Errorf("run %s twice", e.RunID)
		}
		runs[e.RunID] = true
		event := inbox.Event{
			RunID: &e.RunID, Kind: e.Event, Category: e.Category, ActorID: &e.Actor, Recipients: e.Recipients, Title: e.Title, URL: &e.URL,
		}
		if faults := event.Check(time.Now()); len(faults) > 0 || !inbox.ValidUserID(e.Actor) {
			t.Errorf("event %s: %+v", e.RunID, faults)
		}
	}
}

func TestEndpointOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8080":    "http://127.0.0.1:8080/graphql",
		"0.0.0.0:8080":      "http://127.0.0.1:8080/graphql",
		"[::]:8080":         "http://127.0.0.1:8080/graphql",
		"[::1]:80":          "http://[::1]:80/graphql",
		"192.0.2.7:1":       "http://192.0.2.7:1/graphql",
		"[fe80::1%eth0]:80": "http://[fe80::1%25eth0]:80/graphql",
	} {
		addr, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := endpointOf(addr); got != want {
			t.Errorf("endpointOf(%s) = %s, want %s", address, got, want)
		}
	}
}

func TestCapitalised(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"ada": "Ada", "élodie": "Élodie", "Bo": "Bo", "7up": "7up"} {
		if got := capitalised(name); got != want {
			t.Errorf("capitalised(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestDefaultDataDir(t *testing.T) {
	t.Parallel()
	tests := []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"HOME": "/home/ada"}, "/home/ada/.local/share/belfry"},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/belfry"},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "not/absolute"}, "/home/ada/.local/share/belfry"},
	}
	for _, tt := range tests {
		if os.Geteuid() == 0 {
			tt.want = "/var/lib/belfry" // whatever the variables say
		}
		env, _, _ := environmentOf(tt.vars)
		if got := defaultDataDir(env); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.vars, got, tt.want)
		}
	}
}

// A developer is told what the API has said about the demo data.
func TestDemoClientErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, answer, want string
	}{
		{"done", `{"data":{"dispatch":{"userErrors":[]}}}`, ""},
		{"refused", `{"data":{"dispatch":{"userErrors":[{"message":"too long","field":["input","title"]}]}}}`, "input.title: too long"},
		{"failed", `{"errors":[{"message":"the database does not answer"}],"data":{"dispatch":null}}`, "the database does not answer"},
		{"not the API", `<html>`, "HTTP 200: invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Authorization"); got != "Bearer a.b.c" {
					t.Errorf("Authorization: %s", got)
				}
				_, _ = io.WriteString(w, tt.answer)
			}))
			defer server.Close()
			defer http.DefaultClient.CloseIdleConnections()
			err := demoClient{server.URL, "a.b.c"}.dispatch(t.Context(), demoEvent{RunID: "run"})
			if got := errorText(err); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}

// Only who has no name is given one.
func TestDemoAccounts(t *testing.T) {
	t.Parallel()
	var named []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Variables struct {
				IDs   []string
				Input struct{ UserID, DisplayName, Email string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		if request.Variables.IDs != nil {
			_, _ = io.WriteString(w, `{"data":{"users":[{"userId":"ada","account":null},
				{"userId":"chen","account":{"displayName":"Chen Xi"}},{"userId":"dara","account":null}]}}`)
			return
		}
		in := request.Variables.Input
		named = append(named, strings.Join([]string{in.UserID, in.DisplayName, in.Email}, " "))
		_, _ = io.WriteString(w, `{"data":{"putAccount":{"userErrors":[]}}}`)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if err := (demoClient{server.URL, ""}).putAccounts(t.Context(), []string{"ada", "chen", "dara"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"ada Ada ada@example.com", "dara Dara dara@example.com"}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := greetDeveloper(&b, "http://127.0.0.1:1/graphql", "postgres://somewhere", []byte(testSecret)); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "postgres://somewhere") || strings.Contains(text, testSecret) {
		t.Errorf("greeting: %s", text)
	}
	if err := greetDeveloper(&b, "", "", []byte("short")); err == nil {
		t.Error("no error for a short secret")
	}
}

// A start that fails is undone from its end.
func TestStopStack(t *testing.T) {
	t.Parallel()
	var got []int
	var s stopStack
	for i := range 3 {
		s.push(func() { got = append(got, i) })
	}
	s.run()
	if want := []int{2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("undone in the order %v, want %v", got, want)
	}
}

package main

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// environmentOf returns an environment with these variables and what is written to it.
func environmentOf(vars map[string]string) (env environment, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	lookup := func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
	return environment{lookup, strings.NewReader(""), stdout, stderr}, stdout, stderr
}

// settled is what a command with three flags is told.
type settled struct {
	Address string
	Limit   time.Duration
	IsLoud  bool
	Rest    []string
}

func settle(env environment, args []string) (settled, error) {
	var s settled
	f := newFlags("test", env)
	f.StringVar(&s.Address, "some-address", "default", "where")
	f.DurationVar(&s.Limit, "limit", time.Second, "how long")
	f.BoolVar(&s.IsLoud, "loud", false, "whether")
	rest, err := f.parse(args)
	if len(rest) > 0 {
		s.Rest = rest
	}
	return s, err
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsPrecedence(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "from a file\r\n")
	tests := []struct {
		name string
		vars map[string]string
		args []string
		want settled
	}{
		{"defaults", nil, nil, settled{"default", time.Second, false, nil}},
		{
			"environment", map[string]string{"BELFRY_SOME_ADDRESS": "a", "BELFRY_LIMIT": "2s", "BELFRY_LOUD": "true"},
			nil, settled{"a", 2 * time.Second, true, nil},
		},
		{"file", map[string]string{"BELFRY_SOME_ADDRESS_FILE": file}, nil, settled{"from a file", time.Second, false, nil}},
		{
			"flags first", map[string]string{"BELFRY_SOME_ADDRESS": "a", "BELFRY_LIMIT": "nonsense", "BELFRY_LOUD": "true"},
			[]string{"--some-address=b", "-limit", "3s", "--loud=false"}, settled{"b", 3 * time.Second, false, nil},
		},
		{"flag before both variables", map[string]string{"BELFRY_SOME_ADDRESS": "a", "BELFRY_SOME_ADDRESS_FILE": file},
			[]string{"--some-address", ""}, settled{"", time.Second, false, nil}},
		{"what follows", nil, []string{"--loud", "up", "--limit=2s"}, settled{"default", time.Second, true, []string{"up", "--limit=2s"}}},
		{"other names", map[string]string{"SOME_ADDRESS": "a", "BELFRY_SOME-ADDRESS": "b", "BELFRY_ADDRESS": "c"}, nil,
			settled{"default", time.Second, false, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, _, _ := environmentOf(tt.vars)
			got, err := settle(env, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlagsFaults(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "x")
	tests := []struct {
		name     string
		vars     map[string]string
		args     []string
		messages []string
	}{
		{"unknown flag", nil, []string{"--bogus"}, []string{"-bogus"}},
		{"malformed flag", nil, []string{"--limit=soon"}, []string{"-limit", "soon"}},
		{"malformed variables", map[string]string{"BELFRY_LIMIT": "soon", "BELFRY_LOUD": "perhaps"}, nil, []string{"BELFRY_LIMIT", "BELFRY_LOUD"}},
		{"variable and file", map[string]string{"BELFRY_SOME_ADDRESS": "a", "BELFRY_SOME_ADDRESS_FILE": file, "BELFRY_LIMIT": "soon"}, nil,
			[]string{"BELFRY_SOME_ADDRESS and BELFRY_SOME_ADDRESS_FILE exclude each other", "BELFRY_LIMIT"}},
		{"no such file", map[string]string{"BELFRY_LIMIT_FILE": file + "x", "BELFRY_LOUD_FILE": file}, nil,
			[]string{"BELFRY_LIMIT_FILE: open " + file + "x", "BELFRY_LOUD"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, stdout, stderr := environmentOf(tt.vars)
			_, err := settle(env, tt.args)
			if !errors.Is(err, errUsage) {
				t.Fatalf("error %v", err)
			}
			for _, m := range tt.messages {
				if !strings.Contains(err.Error(), m) {
					t.Errorf("lacks %q: %v", m, err)
				}
			}
			if stdout.Len()+stderr.Len() > 0 {
				t.Errorf("reported twice: %q %q", stdout, stderr)
			}
		})
	}
}

func TestFlagsHelp(t *testing.T) {
	t.Parallel()
	env, stdout, stderr := environmentOf(map[string]string{"BELFRY_LIMIT": "soon"})
	if _, err := settle(env, []string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"-some-address", "-limit", "-loud", "belfry test"} {
		if !strings.Contains(stdout.String(), name) {
			t.Errorf("help lacks %s: %s", name, stdout)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr)
	}
}

func TestLogFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		args     []string
		want     string // of what is logged
		messages []string
	}{
		{"defaults", nil, "level=INFO msg=information\nlevel=ERROR msg=fault\n", nil},
		{"JSON", []string{"--log-format=json", "--log-level=error"}, `{"level":"ERROR","msg":"fault"}` + "\n", nil},
		{"level in capitals", []string{"--log-level=WARN"}, "level=ERROR msg=fault\n", nil},
		{"two faults", []string{"--log-format=xml", "--log-level=loud"}, "", []string{"log-format must be text or json", "log-level", "loud"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, _, stderr := environmentOf(nil)
			f := newFlags("test", env)
			newLogger := f.logFlags("text")
			if _, err := f.parse(tt.args); err != nil {
				t.Fatal(err)
			}
			logger, err := newLogger()
			if (err != nil) != (tt.messages != nil) || err != nil && !errors.Is(err, errUsage) {
				t.Fatalf("error %v", err)
			}
			for _, m := range tt.messages {
				if !strings.Contains(err.Error(), m) {
					t.Errorf("lacks %q: %v", m, err)
				}
			}
			say(t, logger)
			if diff := cmp.Diff(tt.want, stderr.String()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// say logs a line of two levels, without their time.
func say(t *testing.T, logger *slog.Logger) {
	t.Helper()
	for _, r := range []slog.Record{
		slog.NewRecord(time.Time{}, slog.LevelInfo, "information", 0),
		slog.NewRecord(time.Time{}, slog.LevelError, "fault", 0),
	} {
		if !logger.Enabled(t.Context(), r.Level) {
			continue
		}
		if err := logger.Handler().Handle(t.Context(), r); err != nil {
			t.Error(err)
		}
	}
}

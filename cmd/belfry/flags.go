package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// errUsage is a command line that can't be carried out as written.
var errUsage = errors.New("usage")

// flags is a FlagSet whose flags fall back on the environment: --database-url on BELFRY_DATABASE_URL.
type flags struct {
	*flag.FlagSet
	env environment
}

func newFlags(name string, env environment) *flags {
	fs := flag.NewFlagSet("belfry "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return &flags{fs, env}
}

// parse reads the arguments, then the environment for what they leave out, and returns what is left over.
// All faults are reported together.
func (f *flags) parse(args []string) ([]string, error) {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(f.env.stdout)
		f.Usage()
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	var faults []error
	f.VisitAll(func(fl *flag.Flag) {
		if given[fl.Name] {
			return
		}
		name := "BELFRY_" + strings.ToUpper(strings.ReplaceAll(fl.Name, "-", "_"))
		value, ok, err := f.secret(name)
		if err == nil && ok {
			if err = fl.Value.Set(value); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		faults = append(faults, err)
	})
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return f.Args(), nil
}

// parseAround is parse for commands with verbs, whose flags may stand before, between and after them: belfry
// push ls --user ada.
func (f *flags) parseAround(args []string) ([]string, error) {
	rest, err := f.parse(args)
	var words []string
	for err == nil && len(rest) > 0 {
		words = append(words, rest[0])
		if len(rest) == 1 {
			break
		}
		rest, err = f.parse(rest[1:])
	}
	return words, err
}

// secret reads a variable, or the file that NAME_FILE names, without its last line break. An empty variable
// is as good as none: that is how a compose file says so.
func (f *flags) secret(name string) (string, bool, error) {
	value, ok := f.env.lookup(name)
	path, hasFile := f.env.lookup(name + "_FILE")
	ok, hasFile = ok && value != "", hasFile && path != ""
	switch {
	case ok && hasFile:
		return "", false, fmt.Errorf("%s and %s_FILE exclude each other", name, name)
	case hasFile:
		data, err := os.ReadFile(path)
		if err != nil {
			return "", false, fmt.Errorf("%s_FILE: %w", name, err)
		}
		return strings.TrimRight(string(data), "\r\n"), true, nil
	}
	return value, ok, nil
}

// activityTTLFlag adds the flag that says how long activities are kept.
func activityTTLFlag(f *flags, ttl *time.Duration) {
	f.DurationVar(ttl, "activity-ttl", 0,
		"how long an activity is kept that does not say so itself, such as 2160h; for ever where 0")
}

func checkActivityTTL(ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("%w: activity-ttl must be 0 or more", errUsage)
	}
	return nil
}

// jwtSecretVariable holds the secret that signs and verifies tokens. It has no flag: a command line can
// be read by everyone on the machine.
const jwtSecretVariable = "BELFRY_JWT_SECRET"

// logFlags adds the flags of the log and returns how to make it once they are parsed. The logger can be
// used whatever the error, which reports all faults of the flags.
func (f *flags) logFlags(format string) func() (*slog.Logger, error) {
	level := f.String("log-level", "info", "debug, info, warn or error")
	f.StringVar(&format, "log-format", format, "text or json")
	return func() (*slog.Logger, error) {
		var l slog.Level
		err := l.UnmarshalText([]byte(*level))
		if err != nil {
			err = fmt.Errorf("%w: log-level: %w", errUsage, err)
		}
		options := &slog.HandlerOptions{Level: l}
		switch format {
		case "text":
			return slog.New(slog.NewTextHandler(f.env.stderr, options)), err
		case "json":
			return slog.New(slog.NewJSONHandler(f.env.stderr, options)), err
		}
		return slog.New(slog.DiscardHandler), errors.Join(err, fmt.Errorf("%w: log-format must be text or json", errUsage))
	}
}

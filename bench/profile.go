package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// writeProfile writes a CPU profile of belfry serve to a file, as `go build` takes it for
// cmd/belfry/default.pgo: under pages and dispatches in turns, which is what a server does most.
func (b *bench) writeProfile(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	admin, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	s, err := st.startBelfry(ctx, nil, "--admin-listen", admin)
	if err != nil {
		return err
	}
	defer s.stop()
	pages := &contestant{server: s, request: func(user string) ([]byte, error) {
		return postAs(user, nil, pageQuery, map[string]any{"first": pageSize})
	}}
	if err := pages.prepare(ctx, st.sample(checked), pages); err != nil {
		return err
	}
	dispatches, err := newDispatches([]string{deepUser}) // whose page is not asked for
	if err != nil {
		return err
	}
	length := time.Duration(b.rounds*b.seconds) * time.Second
	loads := map[string]func(int) source{"page": anyOf(pages.exchanges), "dispatch": dispatches}
	delete(loads, map[string]string{"page": "dispatch", "dispatch": "page"}[b.profiled])
	failed := make(chan error, len(loads))
	for name, newSource := range loads {
		go func() {
			l, err := s.load(ctx, length, newSource)
			if err == nil {
				fmt.Fprintf(os.Stderr, "bench: %s: %.0f/s\n", name, l.rate())
			}
			failed <- err
		}()
	}
	err = fetchProfile(ctx, admin, length, b.profile)
	for range loads {
		err = errors.Join(err, <-failed)
	}
	return err
}

// fetchProfile has the server at the admin address profile itself for length.
func fetchProfile(ctx context.Context, admin string, length time.Duration, path string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", admin, length.Seconds())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: status %s", resp.Status)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, resp.Body)
	return errors.Join(err, f.Close())
}

package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"belfry/inbox"
)

const (
	// fetchEvery bounds how long a key that its issuer has withdrawn is still accepted.
	fetchEvery = 15 * time.Minute
	// fetchFloor is the least time between two fetches: after one that failed, and however many
	// tokens name a key that nobody knows.
	fetchFloor = 10 * time.Second
)

var errNeverFetched = errors.New("keys have never been fetched")

// keySet holds the keys behind a JWKS URL. One goroutine fetches them; lookups read the latest
// snapshot without a lock.
type keySet struct {
	source *source
	log    *slog.Logger
	// latest is nil until a fetch has worked. One that fails later leaves it as it is.
	latest atomic.Pointer[snapshot]
	// wanted asks for a fetch. What is sent is closed when the fetch is done, or at once where the
	// last one is not fetchFloor ago.
	wanted  chan chan struct{}
	cancel  context.CancelFunc
	stopped chan struct{} // closed when the goroutine has ended
}

type snapshot struct{ keyfunc.Keyfunc }

func openKeySet(ctx context.Context, url string, log *slog.Logger, transport http.RoundTripper) *keySet {
	running, cancel := context.WithCancel(ctx)
	s := &keySet{
		source:  newSource(url, transport),
		log:     log,
		wanted:  make(chan chan struct{}),
		cancel:  cancel,
		stopped: make(chan struct{}),
	}
	go s.run(running)
	s.refresh(ctx)
	return s
}

func (s *keySet) close() {
	s.cancel()
	<-s.stopped
}

// find returns the key or keys that may have signed the token.
func (s *keySet) find(ctx context.Context, token *jwt.Token) (any, error) {
	key, err := s.lookup(ctx, token)
	if errors.Is(err, errNeverFetched) || errors.Is(err, jwkset.ErrKeyNotFound) {
		s.refresh(ctx)
		key, err = s.lookup(ctx, token)
	}
	switch {
	case errors.Is(err, errNeverFetched):
		return nil, inbox.Errorf(inbox.Unavailable, "the keys that verify tokens are not available")
	case errors.Is(err, jwkset.ErrKeyNotFound):
		return nil, refuse("token's key is unknown")
	case err != nil:
		return nil, refuse("token's key does not fit its algorithm")
	}
	return key, nil
}

func (s *keySet) lookup(ctx context.Context, token *jwt.Token) (any, error) {
	latest := s.latest.Load()
	if latest == nil {
		return nil, errNeverFetched
	}
	key, err := latest.KeyfuncCtx(ctx)(token)
	// A token without a kid may be signed by any key of its algorithm.
	if set, ok := key.(jwt.VerificationKeySet); ok && len(set.Keys) == 0 {
		return nil, jwkset.ErrKeyNotFound
	}
	return key, err
}

// refresh returns when the keys are no older than fetchFloor, when ctx ends, or when the key set is
// closed. Callers that come during a fetch share it: they queue for the goroutine, which finds the
// keys fresh.
func (s *keySet) refresh(ctx context.Context) {
	done := make(chan struct{})
	select {
	case s.wanted <- done:
	case <-ctx.Done():
		return
	case <-s.stopped:
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (s *keySet) run(ctx context.Context) {
	defer close(s.stopped)
	var fetchedAt time.Time
	timer := time.NewTimer(fetchEvery)
	defer timer.Stop()
	fetch := func() {
		timer.Reset(s.fetch(ctx))
		fetchedAt = time.Now()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			fetch()
		case done := <-s.wanted:
			if time.Since(fetchedAt) >= fetchFloor {
				fetch()
			}
			close(done)
		}
	}
}

// fetch replaces the snapshot and returns when to fetch next.
func (s *keySet) fetch(ctx context.Context) time.Duration {
	keys, err := s.source.fetch(ctx)
	if err == nil {
		err = s.store(ctx, keys)
	}
	switch {
	case ctx.Err() != nil: // Closing. The loop sees it next.
	case err != nil:
		s.log.WarnContext(ctx, "jwks fetch failed", "error", err, "retry_in", fetchFloor)
		return fetchFloor
	case len(keys) == 0:
		s.log.WarnContext(ctx, "jwks has no usable key")
	}
	return fetchEvery
}

func (s *keySet) store(ctx context.Context, keys []jwkset.JWK) error {
	storage := jwkset.NewMemoryStorage()
	if err := storage.KeyReplaceAll(ctx, keys); err != nil {
		return err
	}
	finder, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: storage})
	if err != nil {
		return err
	}
	s.latest.Store(&snapshot{finder})
	return nil
}

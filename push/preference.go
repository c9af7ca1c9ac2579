package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"belfry/storage"
)

const (
	// preferenceTimeout is how long the service may take to answer for one user.
	preferenceTimeout = 250 * time.Millisecond
	// preferenceTTL is how long an answer holds.
	preferenceTTL = 30 * time.Second
	// maxPreferences is the longest answer, in bytes.
	maxPreferences = 64 << 10
	// maxRemembered is of how many users answers are kept.
	maxRemembered = 10_000
	// questionsAtOnce is how many users are asked about at the same time.
	questionsAtOnce = 16
	// maxFailures is after how many failures in a row the service is left alone, and failurePause for how
	// long: a service that hangs would otherwise hold up every batch for its timeout.
	maxFailures  = 5
	failurePause = 2 * time.Second
)

// Preferences asks an account service of the host application what its users have switched off:
//
//	GET URL?user=ID
//	200 {"preferences": [{"category": "ci", "channel": "PUSH", "enabled": false}]}
//
// What an answer does not name is on; other channels and members are passed over. The URL's host is fixed:
// redirects are not followed. It fails open: a service that does not answer in 250 ms, or answers nonsense,
// says yes. But an opt-out that was known once holds until the service takes it back.
type Preferences struct {
	base   *url.URL
	client *http.Client
	logger *slog.Logger

	mu       sync.Mutex
	users    map[string]*answer // guarded by mu
	failures int                // guarded by mu: in a row
	pausedTo time.Time          // guarded by mu
}

// answer is what is known of a user.
type answer struct {
	off     map[string]bool // by category
	askedAt time.Time
	// pending is closed when the question under way has been answered; nil where there is none.
	pending chan struct{}
}

// NewPreferences returns a client of the service at an http or https URL. Transport is nil for the usual
// one.
func NewPreferences(rawURL string, transport http.RoundTripper, logger *slog.Logger) (*Preferences, error) {
	base, err := url.Parse(rawURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil {
		return nil, errors.New("preferences-url must be an http or https URL without a password")
	}
	return &Preferences{
		base: base,
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		logger: logger,
		users:  map[string]*answer{},
	}, nil
}

// muted returns the ids of those queued notifications whose users have switched their category off.
func (p *Preferences) muted(ctx context.Context, queued []storage.QueuedPush) []int64 {
	var group sync.WaitGroup
	slots := make(chan struct{}, questionsAtOnce)
	// Not looked up again afterwards: what has just been answered counts, even if it is forgotten by then.
	answers := map[string]*answer{}
	for _, q := range queued {
		if answers[q.UserID] != nil {
			continue
		}
		slots <- struct{}{}
		a := p.answerOf(q.UserID)
		answers[q.UserID] = a
		group.Go(func() {
			defer func() { <-slots }()
			p.learn(ctx, q.UserID, a)
		})
	}
	group.Wait()
	var muted []int64
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range queued {
		if answers[q.UserID].off[q.Category] {
			muted = append(muted, q.ID)
		}
	}
	return muted
}

// answerOf returns what is known of a user, perhaps nothing yet.
func (p *Preferences) answerOf(userID string) *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.users[userID]
	if a == nil {
		p.forgetSome()
		a = &answer{}
		p.users[userID] = a
	}
	return a
}

// learn brings what is known of a user up to date, unless it is. Who comes while a question is under way
// waits for its answer.
func (p *Preferences) learn(ctx context.Context, userID string, a *answer) {
	p.mu.Lock()
	if pending := a.pending; pending != nil {
		p.mu.Unlock()
		select {
		case <-pending:
		case <-ctx.Done():
		}
		return
	}
	if time.Since(a.askedAt) < preferenceTTL || time.Now().Before(p.pausedTo) {
		p.mu.Unlock()
		return
	}
	a.pending = make(chan struct{})
	p.mu.Unlock()

	off, err := p.ask(ctx, userID)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(a.pending)
	a.pending = nil
	if err != nil {
		if p.failures++; p.failures >= maxFailures {
			p.pausedTo = time.Now().Add(failurePause)
		}
		// Without the user's id, which the URL in some errors would hold.
		p.logger.Warn("preference service: pushes go out unasked", "error", err.Error())
		return
	}
	a.askedAt, a.off = time.Now(), off
	p.failures = 0
}

// forgetSome makes room. It is called with p.mu held.
func (p *Preferences) forgetSome() {
	if len(p.users) < maxRemembered {
		return
	}
	for id, a := range p.users {
		// An opt-out is worth keeping; the others can be asked for again.
		if a.pending == nil && len(a.off) == 0 {
			delete(p.users, id)
		}
	}
	for id, a := range p.users {
		if len(p.users) < maxRemembered {
			return
		}
		if a.pending == nil {
			delete(p.users, id)
		}
	}
}

// ask returns the categories that a user has switched off.
func (p *Preferences) ask(ctx context.Context, userID string) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, preferenceTimeout)
	defer cancel()
	u := *p.base
	query := u.Query()
	query.Set("user", userID)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("bad request")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPreferences+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxPreferences {
		return nil, fmt.Errorf("more than %d bytes", maxPreferences)
	}
	var a struct {
		Preferences []struct {
			Category, Channel string
			Enabled           *bool
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, errors.New("not the JSON that was expected")
	}
	off := map[string]bool{}
	for _, c := range a.Preferences {
		if c.Channel == "PUSH" && c.Enabled != nil && !*c.Enabled {
			off[c.Category] = true
		}
	}
	return off, nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// contestant is one of those that answer with the same page.
type contestant struct {
	name   string
	server *server
	// request returns the request for a user's page.
	request func(user string) ([]byte, error)
	// isSame compares an answer with Belfry's.
	isSame    func(belfry, body []byte) error
	exchanges []*exchange
	loads     []load
}

// slowPath is what has gqlgen's generated code render in belfry serve: variables of the environment.
func slowPath() []string { return []string{"BELFRY_GENERATED_RENDERING=true"} }

// checked is how many users' pages are compared before they are asked for under load.
const checked = 1000

// page measures the feed page with the badge, of all contestants in turns.
func (b *bench) page(ctx context.Context) error {
	st, err := b.openStage(ctx)
	if err != nil {
		return err
	}
	all, err := b.contestants(ctx, st)
	defer func() {
		for _, c := range all {
			c.server.stop()
		}
	}()
	if err != nil {
		return err
	}
	database, err := st.pagePgbench(ctx)
	if err != nil && !errors.Is(err, errNoPeer) {
		return err
	}
	if err := b.warmUp(ctx, all, st.sample(checked)); err != nil {
		return err
	}
	var rates []float64
	for round := range b.rounds {
		for i := range all {
			c := all[(i+round)%len(all)]
			l, err := b.loadPages(ctx, c)
			if err != nil {
				return err
			}
			c.loads = append(c.loads, l)
		}
		if database != nil {
			rate, err := database.run(ctx, st.url, b.seconds)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
		}
	}
	b.reportPage(all, rates)
	return nil
}

// warmUp compares the contestants' answers, and then asks them for as long as a round takes: Node compiles
// what it has run often.
func (b *bench) warmUp(ctx context.Context, all []*contestant, users []string) error {
	if b.isQuick() {
		users = users[:checked/10]
	}
	for _, c := range all {
		if err := c.prepare(ctx, users, all[0]); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if b.isQuick() {
			continue
		}
		if _, err := b.loadPages(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// loadPages asks a contestant for pages for one round.
func (b *bench) loadPages(ctx context.Context, c *contestant) (load, error) {
	l, err := c.server.load(ctx, time.Duration(b.seconds)*time.Second, anyOf(c.exchanges))
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return l, err
}

// contestants starts them all, Belfry first. Where PostGraphile can't be had it is not among them.
func (b *bench) contestants(ctx context.Context, st *stage) (all []*contestant, err error) {
	asViewer := func(user string) ([]byte, error) {
		return postAs(user, nil, pageQuery, map[string]any{"first": pageSize})
	}
	identical := func(belfry, body []byte) error {
		if !bytes.Equal(belfry, body) {
			return fmt.Errorf("another answer than Belfry's:\n%s\n%s", body, belfry)
		}
		return nil
	}
	add := func(name string, s *server, request func(string) ([]byte, error), isSame func(belfry, body []byte) error) {
		all = append(all, &contestant{name: name, server: s, request: request, isSame: isSame})
	}
	s, err := st.startBelfry(ctx, nil)
	if err != nil {
		return all, err
	}
	add("Belfry", s, asViewer, identical)
	if s, err = st.startBelfry(ctx, slowPath()); err != nil {
		return all, err
	}
	add(generatedName, s, asViewer, identical)
	if s, err = st.startFloor(ctx); err != nil {
		return all, err
	}
	add(floorName, s, func(user string) ([]byte, error) { return get("/inbox/" + user), nil }, identical)
	if s, err = st.startPeer(ctx); errors.Is(err, errNoPeer) {
		return all, nil
	} else if err != nil {
		return all, err
	}
	add(peerName, s, func(user string) ([]byte, error) {
		return post("", peerPageQuery, map[string]any{"user": user, "first": pageSize})
	}, sameRows)
	return all, nil
}

// The contestants' names in the table.
const (
	generatedName = "Belfry with gqlgen's generated path"
	floorName     = "the floor"
	peerName      = "PostGraphile 5"
)

// prepare makes the requests and learns the right answers, which must be the same as Belfry's.
func (c *contestant) prepare(ctx context.Context, users []string, belfry *contestant) error {
	w, err := c.server.dial(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	for i, u := range users {
		request, err := c.request(u)
		if err != nil {
			return err
		}
		body, err := w.do(request)
		if err != nil {
			return err
		}
		want := bytes.Clone(body)
		e := &exchange{request, func(body []byte) bool { return bytes.Equal(body, want) }}
		c.exchanges = append(c.exchanges, e)
		if shown, err := parsePage(want); err != nil || len(shown.rows) != pageSize || shown.unread == 0 {
			return fmt.Errorf("not a page of %d: %w: %s", pageSize, err, want)
		}
		if !belfry.exchanges[i].isRight(want) {
			right, err := belfry.answer(ctx, i)
			if err := errors.Join(err, c.isSame(right, want)); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer asks for the page of the user of that number.
func (c *contestant) answer(ctx context.Context, i int) ([]byte, error) {
	w, err := c.server.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.ask(c.exchanges[i])
}

// sameRows compares answers that differ in ids, cursors and the form of times.
func sameRows(belfry, body []byte) error {
	want, err := parsePage(belfry)
	if err != nil {
		return err
	}
	got, err := parsePage(body)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("other rows than Belfry's:\n%+v\n%+v", got, want)
	}
	return nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// connections is how many requests are under way at once while there is load.
const connections = 16

// exchange is a request as it goes over the wire, and how to tell its right answer.
type exchange struct {
	request []byte
	isRight func(body []byte) bool
}

// source gives the next exchange of one connection. What it gave before is not used any more.
type source func() *exchange

// wire is a connection that asks one thing after another. It does as little as it can: server, load and
// Postgres share the machine.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
	body   []byte
}

// patience is how long an answer may take.
const patience = 30 * time.Second

func (s *server) dial(ctx context.Context) (*wire, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// do sends a request and returns the body of the answer, which is good until the next call.
func (w *wire) do(request []byte) ([]byte, error) {
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := w.conn.Write(request); err != nil {
		return nil, err
	}
	status, length, err := w.head()
	if err != nil {
		return nil, err
	}
	w.body = slices.Grow(w.body[:0], length)[:length]
	if _, err := io.ReadFull(w.reader, w.body); err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("status %d: %.300s", status, w.body)
	}
	return w.body, nil
}

// head reads the status and the headers of an answer.
func (w *wire) head() (status, length int, err error) {
	length = -1
	for first := true; ; first = false {
		line, err := w.reader.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch name, value, isHeader := bytes.Cut(line, []byte(":")); {
		case first:
			fields := bytes.Fields(line)
			if len(fields) < 2 {
				return 0, 0, fmt.Errorf("no status line: %q", line)
			}
			if status, err = strconv.Atoi(string(fields[1])); err != nil {
				return 0, 0, err
			}
		case len(line) == 0:
			if length < 0 {
				return 0, 0, errors.New("an answer without Content-Length")
			}
			return status, length, nil
		case isHeader && bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, 0, err
			}
		}
	}
}

// ask sends an exchange's request and checks the answer.
func (w *wire) ask(e *exchange) ([]byte, error) {
	body, err := w.do(e.request)
	if err == nil && !e.isRight(body) {
		err = fmt.Errorf("wrong answer: %.300s", body)
	}
	return body, err
}

// load is what a server has done under load.
type load struct {
	requests int
	length   time.Duration
	// cpu is what the server's process has used.
	cpu time.Duration
	// times are how long each request took, in order.
	times []time.Duration
}

func (l load) rate() float64 { return float64(l.requests) / l.length.Seconds() }

// cpuEach returns the CPU of the server's process a request, in milliseconds.
func (l load) cpuEach() float64 { return l.cpu.Seconds() * 1000 / float64(l.requests) }

func (l load) percentile(p int) float64 { return milliseconds(l.times[len(l.times)*p/100]) }

// uncounted is the part of a load that does not count, one in so many.
const uncounted = 4

// load has connections ask the server for length, and before that for a fraction of it that does not count.
// A wrong answer is an error.
func (s *server) load(ctx context.Context, length time.Duration, newSource func(connection int) source) (load, error) {
	r := &volley{server: s, failed: make(chan error, connections)}
	var group sync.WaitGroup
	for c := range connections {
		next := newSource(c)
		group.Go(func() { r.ask(ctx, next) })
	}
	r.wait(ctx, length/uncounted)
	before, err := s.cpu()
	began := time.Now()
	r.isCounting.Store(true)
	r.wait(ctx, length)
	r.isOver.Store(true)
	l := load{length: time.Since(began)}
	after, errAfter := s.cpu()
	group.Wait()
	close(r.failed)
	err = errors.Join(err, errAfter)
	for e := range r.failed {
		err = errors.Join(err, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.cpu, l.times, l.requests = after-before, r.times, len(r.times)
	slices.Sort(l.times)
	if err == nil && l.requests == 0 {
		err = errors.New("no request was answered")
	}
	return l, err
}

// volley is a load under way.
type volley struct {
	server             *server
	isCounting, isOver atomic.Bool
	failed             chan error

	mu    sync.Mutex
	times []time.Duration // guarded by mu: of the requests that count
}

// wait waits, but no longer than until a request has failed.
func (r *volley) wait(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case err := <-r.failed:
		r.failed <- err
	}
}

// ask asks one thing after another on a connection of its own. What is answered while the volley counts, counts.
func (r *volley) ask(ctx context.Context, next source) {
	var times []time.Duration
	err := func() error {
		w, err := r.server.dial(ctx)
		if err != nil {
			return err
		}
		defer w.close()
		for !r.isOver.Load() && ctx.Err() == nil {
			began := time.Now()
			if _, err := w.ask(next()); err != nil {
				return err
			}
			if r.isCounting.Load() && !r.isOver.Load() {
				times = append(times, time.Since(began))
			}
		}
		return ctx.Err()
	}()
	if err != nil {
		r.failed <- err
		r.isOver.Store(true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = append(r.times, times...)
}

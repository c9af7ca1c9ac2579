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

// warmUp is the part of a load that is not counted, one in so many.
const warmUp = 4

// load has connections ask the server for length, and before that for a fraction of it that does not count.
// A wrong answer is an error.
func (s *server) load(ctx context.Context, length time.Duration, newSource func(connection int) source) (load, error) {
	var isCounting, isOver atomic.Bool
	var mu sync.Mutex
	var l load       // guarded by mu
	var failed error // guarded by mu
	var group sync.WaitGroup
	for c := range connections {
		next := newSource(c)
		group.Go(func() {
			times, err := s.askUntil(ctx, next, &isCounting, &isOver)
			if err != nil {
				isOver.Store(true)
			}
			mu.Lock()
			defer mu.Unlock()
			l.times = append(l.times, times...)
			failed = errors.Join(failed, err)
		})
	}
	<-time.After(length / warmUp)
	before, err := s.cpu()
	started := time.Now()
	isCounting.Store(true)
	<-time.After(length)
	isOver.Store(true)
	l.length = time.Since(started)
	after, errAfter := s.cpu()
	group.Wait()
	l.cpu, l.requests = after-before, len(l.times)
	slices.Sort(l.times)
	if l.requests == 0 && failed == nil {
		failed = errors.New("no request was answered")
	}
	return l, errors.Join(err, errAfter, failed)
}

// askUntil asks one thing after another until isOver, and returns how long those took that count.
func (s *server) askUntil(ctx context.Context, next source, isCounting, isOver *atomic.Bool) ([]time.Duration, error) {
	w, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer w.close()
	var times []time.Duration
	for !isOver.Load() {
		counts := isCounting.Load()
		began := time.Now()
		if _, err := w.ask(next()); err != nil {
			return nil, err
		}
		if counts && !isOver.Load() {
			times = append(times, time.Since(began))
		}
	}
	return times, ctx.Err()
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	ws "github.com/coder/websocket"
)

const idle = 5 * time.Second

// server is a running process that is measured.
type server struct {
	cmd     *exec.Cmd
	address string
}

func (b *bench) start(ctx context.Context, env ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-server")
	cmd.Env = append(append(os.Environ(), databaseVariable+"="+b.databaseURL), env...)
	return startListening(cmd)
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) figures(ctx context.Context) (figures, error) {
	var f figures
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/stats", nil)
	if err != nil {
		return f, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return f, err
	}
	defer func() { _ = resp.Body.Close() }()
	return f, json.NewDecoder(resp.Body).Decode(&f)
}

// resident returns how much memory the process holds right now, in bytes.
func (s *server) resident() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// subscription is one socket with one subscription to a badge.
type subscription struct {
	conn *ws.Conn
	// first is the count that it began with.
	first int
}

// subscribe opens a socket and waits for the first badge.
func (s *server) subscribe(ctx context.Context, path, user string) (*subscription, error) {
	conn, _, err := ws.Dial(ctx, "ws://"+s.address+path, &ws.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		return nil, err
	}
	sub := &subscription{conn: conn}
	for _, m := range []string{
		`{"type":"connection_init","payload":{"token":"` + user + `"}}`,
		`{"type":"subscribe","id":"1","payload":{"query":"subscription { badgeChanged { user { id unreadCount unseenCount } } }"}}`,
	} {
		if err := conn.Write(ctx, ws.MessageText, []byte(m)); err != nil {
			return nil, err
		}
	}
	sub.first, err = sub.next(ctx)
	return sub, err
}

var unreadCount = []byte(`"unreadCount":`)

// next returns the unread count of the next badge.
func (s *subscription) next(ctx context.Context) (int, error) {
	for {
		_, text, err := s.conn.Read(ctx)
		if err != nil {
			return 0, err
		}
		_, rest, ok := bytes.Cut(text, unreadCount)
		if !ok {
			if bytes.Contains(text, []byte(`"error"`)) {
				return 0, fmt.Errorf("subscription: %s", text)
			}
			continue // the acknowledgement
		}
		digits, _, _ := bytes.Cut(rest, []byte(","))
		return strconv.Atoi(string(digits))
	}
}

// subscribeAll opens many sockets, some at once. Close them with closeAll.
func (s *server) subscribeAll(ctx context.Context, path string, count int) ([]*subscription, error) {
	subs := make([]*subscription, count)
	errs := make(chan error, count)
	var group sync.WaitGroup
	const atOnce = 16
	for w := range atOnce {
		group.Go(func() {
			for i := w; i < count; i += atOnce {
				var err error
				if subs[i], err = s.subscribe(ctx, path, userName(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
		return subs, nil
	}
}

func closeAll(subs []*subscription) {
	for _, s := range subs {
		_ = s.conn.CloseNow()
	}
}

func userName(i int) string { return "user-" + strconv.Itoa(i) }

// dispatch sends one event to users over HTTP.
func (s *server) dispatch(ctx context.Context, client *http.Client, run string, users ...string) error {
	const query = `mutation ($input: DispatchInput!) { dispatch(input: $input) { createdCount } }`
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"input": map[string]any{
		"runId": run, "kind": "comment", "category": "reviews", "recipients": users, "title": "A title of some length",
	}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && !bytes.Contains(answer, fmt.Appendf(nil, `"createdCount":%d`, len(users))) {
		err = fmt.Errorf("dispatch: %.300s", answer)
	}
	return err
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"belfry/inbox"
)

// floor is a handler as one would write it by hand for this page alone, the least that Belfry can be compared
// with: net/http, pgx with prepared statements in one round trip, structs, encoding/json. It verifies no
// token, has no limits and writes no log: the user's id is in the path.
type floor struct {
	pool *pgxpool.Pool
	page []statement
}

// sampleUser is whom the statements were watched for.
const sampleUser = "user-1"

// serveFloor is the process of the floor.
func serveFloor(ctx context.Context) error {
	url := os.Getenv(databaseVariable)
	f := &floor{}
	var err error
	if f.page, err = pageStatements(ctx, url, sampleUser); err != nil {
		return err
	}
	if f.pool, err = pgxpool.New(ctx, url); err != nil {
		return err
	}
	defer f.pool.Close()
	mux := http.NewServeMux()
	mux.Handle("GET /inbox/{user}", f)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: idle}).Serve(listener)
}

// startFloor starts it over the stage's tables.
func (st *stage) startFloor(ctx context.Context) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-floor")
	cmd.Env = append(os.Environ(), databaseVariable+"="+st.url)
	return startListening(cmd)
}

// The answer, with the names and the order of pageQuery.
type (
	floorAnswer struct {
		Data struct {
			Viewer struct {
				UnreadCount   int       `json:"unreadCount"`
				Notifications floorPage `json:"notifications"`
			} `json:"viewer"`
		} `json:"data"`
	}
	floorPage struct {
		Edges    []floorEdge `json:"edges"`
		PageInfo struct {
			HasNextPage bool    `json:"hasNextPage"`
			EndCursor   *string `json:"endCursor"`
		} `json:"pageInfo"`
	}
	floorEdge struct {
		Cursor string    `json:"cursor"`
		Node   floorNode `json:"node"`
	}
	floorNode struct {
		ID        string  `json:"id"`
		Kind      string  `json:"kind"`
		Category  string  `json:"category"`
		Title     string  `json:"title"`
		Body      *string `json:"body"`
		URL       *string `json:"url"`
		CreatedAt string  `json:"createdAt"`
		ReadAt    *string `json:"readAt"`
	}
)

// ServeHTTP answers with a user's page.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := f.read(r.Context(), r.PathValue("user"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	body.Truncate(body.Len() - 1) // the line break
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	_, _ = w.Write(body.Bytes())
}

func (f *floor) read(ctx context.Context, user string) (*floorAnswer, error) {
	batch := &pgx.Batch{}
	for _, s := range f.page {
		batch.Queue(s.sql, argsFor(s.args, user)...)
	}
	results := f.pool.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()
	answer := &floorAnswer{}
	for _, s := range f.page {
		rows, err := results.Query()
		if err != nil {
			return nil, err
		}
		switch s.name {
		case "FeedPage":
			err = answer.Data.Viewer.Notifications.scan(rows)
		case "UnreadCounts":
			err = scanUnread(rows, &answer.Data.Viewer.UnreadCount)
		default:
			err = fmt.Errorf("the page takes the statement %s, which the floor has to learn", s.name)
		}
		if err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// argsFor returns the arguments with another user in them.
func argsFor(args []any, user string) []any {
	args = slices.Clone(args)
	for i, a := range args {
		switch a := a.(type) {
		case string:
			if a == sampleUser {
				args[i] = user
			}
		case []string:
			if slices.Contains(a, sampleUser) {
				args[i] = []string{user}
			}
		}
	}
	return args
}

func scanUnread(rows pgx.Rows, unread *int) error {
	var user string
	var unseen int
	var countedAt time.Time
	_, err := pgx.ForEachRow(rows, []any{&user, unread, &unseen, &countedAt}, func() error { return nil })
	return err
}

// scan reads the rows of a page and one more, which tells whether there are more.
func (p *floorPage) scan(rows pgx.Rows) error {
	p.Edges = make([]floorEdge, 0, pageSize)
	var (
		n          inbox.Notification
		actor      *string
		archivedAt *time.Time
		data       []byte
	)
	columns := []any{
		&n.UserID, &n.CreatedAt, (*[16]byte)(&n.ID), &n.Kind, &n.Category, &actor, &n.Title, &n.Body, &n.URL, &data, &n.ReadAt, &archivedAt,
	}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		if len(p.Edges) == pageSize {
			p.PageInfo.HasNextPage = true
			return nil
		}
		p.Edges = append(p.Edges, floorEdge{n.Cursor().String(), floorNode{
			n.NodeID(), n.Kind, n.Category, n.Title, n.Body, n.URL, *instant(&n.CreatedAt), instant(n.ReadAt),
		}})
		return nil
	})
	if len(p.Edges) > 0 {
		p.PageInfo.EndCursor = &p.Edges[len(p.Edges)-1].Cursor
	}
	return err
}

func instant(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(t.UTC().Format("2006-01-02T15:04:05.000000Z"))
}

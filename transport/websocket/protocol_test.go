package websocket_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	ws "github.com/coder/websocket"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport/websocket"
)

const (
	initGood  = `{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`
	ack       = `{"type":"connection_ack"}`
	queryOne  = `{"id":"1","type":"subscribe","payload":{"query":"{ viewer { userId } }"}}`
	badgeOne  = `{"id":"1","type":"subscribe","payload":{"query":"subscription { badgeChanged { user { userId } } }"}}`
	nextOne   = `{"id":"1","type":"next","payload":{"data":{"viewer":{"userId":"ada"}}}}`
	endOne    = `{"id":"1","type":"complete"}`
	nextBadge = `{"id":"1","type":"next","payload":{"data":{"badgeChanged":{"user":{"userId":"ada"}}}}}`
)

// Each case is a script: what the client sends, after ">", and what it must get, after "<". The last line
// may be how the socket closes.
func TestProtocol(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script []string
	}{
		{"init with a token", []string{"> " + initGood, "< " + ack}},
		{"init without a payload", []string{`> {"type":"connection_init"}`, "< " + ack}},
		{"init with a null payload", []string{`> {"type":"connection_init","payload":null}`, "< " + ack}},
		{"init with an empty payload", []string{`> {"type":"connection_init","payload":{}}`, "< " + ack}},
		{"init whose payload is a string", []string{`> {"type":"connection_init","payload":"x"}`, `< 4400 "The payload is not an object"`}},
		{"init whose payload is an array", []string{`> {"type":"connection_init","payload":[]}`, `< 4400 "The payload is not an object"`}},
		{"init with a bad token", []string{`> {"type":"connection_init","payload":{"Authorization":"Bearer bad"}}`, `< 4403 "Forbidden"`}},
		{"init with a token by another name", []string{`> {"type":"connection_init","payload":{"token":"good"}}`, "< " + ack, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"init with a header in lower case", []string{`> {"type":"connection_init","payload":{"authorization":"bearer good"}}`, "< " + ack, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"init while tokens can't be checked", []string{`> {"type":"connection_init","payload":{"token":"down"}}`, `< 1013 "Tokens can't be checked"`}},
		{"second init", []string{"> " + initGood, "< " + ack, "> " + initGood, `< 4429 "Too many initialisation requests"`}},
		{"two inits at once", []string{"> " + initGood, "> " + initGood, "< " + ack, `< 4429 "Too many initialisation requests"`}},
		{"subscribe before init", []string{"> " + queryOne, `< 4401 "Unauthorized"`}},
		{"not JSON", []string{"> " + initGood, "< " + ack, "> {", `< 4400 "Invalid message received"`}},
		{"not JSON before init", []string{"> nonsense", `< 4400 "Invalid message received"`}},
		{"not an object", []string{"> []", `< 4400 "Invalid message received"`}},
		{"empty message", []string{"> ", `< 4400 "Invalid message received"`}},
		{"no type", []string{"> {}", `< 4400 "Invalid message type"`}},
		{"unknown type", []string{"> " + initGood, "< " + ack, `> {"type":"start","id":"1"}`, `< 4400 "Invalid message type"`}},
		{"a server's type", []string{"> " + initGood, "< " + ack, `> {"type":"next","id":"1"}`, `< 4400 "Invalid message type"`}},
		{"ping", []string{`> {"type":"ping"}`, `< {"type":"pong"}`}},
		{"ping with a payload", []string{"> " + initGood, "< " + ack, `> {"type":"ping","payload":{"a": 1}}`, `< {"type":"pong","payload":{"a": 1}}`}},
		{"ping whose payload is a number", []string{`> {"type":"ping","payload":1}`, `< 4400 "The payload is not an object"`}},
		{"pong", []string{"> " + initGood, "< " + ack, `> {"type":"pong","payload":{}}`, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"query", []string{"> " + initGood, "< " + ack, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"an id again after its end", []string{"> " + initGood, "< " + ack, "> " + queryOne, "< " + nextOne, "< " + endOne, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"an id that needs escaping", []string{"> " + initGood, "< " + ack,
			`> {"id":"\"<","type":"subscribe","payload":{"query":"{ viewer { userId } }"}}`,
			`< {"id":"\"\u003c","type":"next","payload":{"data":{"viewer":{"userId":"ada"}}}}`, `< {"id":"\"\u003c","type":"complete"}`}},
		{"an id that is a number", []string{"> " + initGood, "< " + ack, `> {"id":1,"type":"subscribe","payload":{"query":"{ viewer { userId } }"}}`, `< 4400 "Invalid message received"`}},
		{"no id", []string{"> " + initGood, "< " + ack, `> {"type":"subscribe","payload":{"query":"{ viewer { userId } }"}}`, `< 4400 "Invalid message received"`}},
		{"empty id", []string{"> " + initGood, "< " + ack, `> {"id":"","type":"subscribe","payload":{"query":"{ viewer { userId } }"}}`, `< 4400 "Invalid message received"`}},
		{"no payload", []string{"> " + initGood, "< " + ack, `> {"id":"1","type":"subscribe"}`, `< 4400 "Invalid message received"`}},
		{"no query", []string{"> " + initGood, "< " + ack, `> {"id":"1","type":"subscribe","payload":{}}`, `< 4400 "Invalid message received"`}},
		{"variables that are an array", []string{"> " + initGood, "< " + ack, `> {"id":"1","type":"subscribe","payload":{"query":"{ viewer { userId } }","variables":[]}}`, `< 4400 "Invalid message received"`}},
		{"null variables and extensions", []string{"> " + initGood, "< " + ack,
			`> {"id":"1","type":"subscribe","payload":{"query":"{ viewer { userId } }","variables":null,"extensions":null,"operationName":null}}`, "< " + nextOne, "< " + endOne}},
		{"id of one under way", []string{"> " + initGood, "< " + ack, "> " + badgeOne, "> " + badgeOne, `< 4409 "Subscriber for 1 already exists"`}},
		{"complete without an id", []string{"> " + initGood, "< " + ack, `> {"type":"complete"}`, `< 4400 "Invalid message received"`}},
		{"complete of none", []string{"> " + initGood, "< " + ack, `> {"type":"complete","id":"9"}`, "> " + queryOne, "< " + nextOne, "< " + endOne}},
		{"syntax error, and nothing after it", []string{"> " + initGood, "< " + ack, `> {"id":"1","type":"subscribe","payload":{"query":"{"}}`,
			`< {"id":"1","type":"error","payload":[{"message":"Expected Name, found \u003cEOF\u003e","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]}`,
			`> {"type":"ping"}`, `< {"type":"pong"}`}},
		{"unauthenticated subscription, and nothing after it", []string{`> {"type":"connection_init"}`, "< " + ack, "> " + badgeOne,
			`< {"id":"1","type":"error","payload":[{"message":"authentication required","path":["badgeChanged"],"locations":[{"line":1,"column":16}]}]}`,
			`> {"type":"ping"}`, `< {"type":"pong"}`}},
		{"unauthenticated query", []string{`> {"type":"connection_init"}`, "< " + ack, "> " + queryOne,
			`< {"id":"1","type":"next","payload":{"errors":[{"message":"authentication required","path":["viewer"],"locations":[{"line":1,"column":3}]}],"data":{"viewer":null}}}`, "< " + endOne}},
		{"T-41 a panic ends its operation alone", []string{`> {"type":"connection_init","payload":{"token":"panics"}}`, "< " + ack, "> " + queryOne,
			`< {"id":"1","type":"next","payload":{"errors":[{"message":"recovered","path":["viewer"]}],"data":{"viewer":null}}}`, "< " + endOne,
			`> {"type":"ping"}`, `< {"type":"pong"}`}},
		{"message over the limit", []string{"> " + initGood, "< " + ack, "> " + `{"type":"ping","payload":{"a":"` + strings.Repeat("x", 64<<10) + `"}}`, `< 1009 "Message too big"`}},
		{"message far over the limit", []string{"> " + initGood, "< " + ack, "> " + `{"type":"ping","payload":{"a":"` + strings.Repeat("x", 5<<20) + `"}}`, `< 1009 "Message too big"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, websocket.Config{})
			c := s.dial(t, nil, "graphql-transport-ws")
			for _, line := range tt.script {
				if message, ok := strings.CutPrefix(line, "> "); ok {
					c.send(message)
					continue
				}
				want := strings.TrimPrefix(line, "< ")
				if got := c.read(); got != want {
					t.Fatalf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestTheTokenMayComeInTheHeader(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.dial(t, http.Header{"Authorization": {"good"}}, "graphql-transport-ws")
	c.send(`{"type":"connection_init"}`)
	c.want(ack)
	c.send(queryOne)
	c.want(nextOne)
	c.want(endOne)
}

func TestOtherSubprotocolsAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	s.dial(t, nil, "graphql-ws").want(`4406 "Subprotocol not acceptable"`)
	s.dial(t, nil).want(`4406 "Subprotocol not acceptable"`)
	both := s.dial(t, nil, "graphql-ws", "graphql-transport-ws")
	if got := both.conn.Subprotocol(); got != "graphql-transport-ws" {
		t.Errorf("of both: got %q", got)
	}
}

func TestForeignOriginsAreRefused(t *testing.T) {
	t.Parallel()
	for origin, isAllowed := range map[string]bool{
		"https://evil.example": false, "https://app.example": true, "null": false,
	} {
		s := newServer(t, websocket.Config{Origins: []string{"app.example"}})
		conn, resp, err := ws.Dial(t.Context(), s.URL, &ws.DialOptions{
			Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Origin": {origin}},
		})
		if (err == nil) != isAllowed || !isAllowed && resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v", origin, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

func TestInitTimeout(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{InitTimeout: 20 * time.Millisecond})
	s.dial(t, nil, "graphql-transport-ws").want(`4408 "Connection initialisation timeout"`)
	c := s.open(t, "good")
	c.send(badgeOne)
	s.badges <- &graph.BadgePayload{User: &inbox.User{ID: "ada"}}
	c.want(nextBadge) // the timer is off
}

func TestTheSocketEndsWithItsToken(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "short")
	c.send(badgeOne)
	c.want(`4403 "Forbidden: the token has expired"`)
	<-s.ended
}

func TestBinaryMessages(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{})
	c := s.open(t, "good")
	if err := c.conn.Write(c.ctx, ws.MessageBinary, []byte(queryOne)); err != nil {
		t.Fatal(err)
	}
	c.want(`4400 "Message is not text"`)
}

// Case T-46: a client that wants a sign of life has it with the acknowledgement, not after the first
// interval.
func TestT46AckAndPingAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, websocket.Config{PingInterval: time.Hour})
	pinged := make(chan struct{}, 1)
	conn, _, err := ws.Dial(t.Context(), s.URL, &ws.DialOptions{
		Subprotocols: []string{"graphql-transport-ws"},
		OnPingReceived: func(context.Context, []byte) bool {
			pinged <- struct{}{}
			return true
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := &client{t: t, conn: conn, ctx: ctx}
	defer func() { _ = conn.CloseNow() }()
	c.send(initGood)
	c.want(ack)
	go func() { _, _, _ = conn.Read(ctx) }() // pings are answered by whoever reads
	select {
	case <-pinged:
	case <-ctx.Done():
		t.Error("no ping")
	}
}

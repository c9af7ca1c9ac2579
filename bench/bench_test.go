package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"belfry/inbox"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		goal  goal
		value float64
		want  string
		text  string
	}{
		{atMost(1.3), 1.3, "met", "at most 1.30"},
		{atMost(1.3), 1.31, "missed", "at most 1.30"},
		{atLeast(3), 3, "met", "at least 3.00"},
		{atLeast(3), 2.9, "missed", "at least 3.00"},
		{goal{limit: 2, isEitherWay: true}, -2, "met", "at most ± 2.00"},
		{goal{limit: 2, isEitherWay: true}, -3, "missed", "at most ± 2.00"},
		{goal{limit: 1.3, also: "; aim at 1.0"}, 1, "met", "at most 1.30; aim at 1.0"},
	}
	for _, tt := range tests {
		if got := tt.goal.verdict(tt.value); got != tt.want {
			t.Errorf("%+v: %v: got %s, want %s", tt.goal, tt.value, got, tt.want)
		}
		if got := tt.goal.text(ratio); got != tt.text {
			t.Errorf("%+v: got %q, want %q", tt.goal, got, tt.text)
		}
	}
}

func TestMeasured(t *testing.T) {
	t.Parallel()
	var b bench
	b.measured("name", ratio, []float64{3, 1, 2}, atMost(2), "detail")
	b.measured("name", "%.0f ms", []float64{7}, atLeast(8), "")
	want := []figure{
		{"name", "2.00 (detail)", "1.00 to 3.00", "at most 2.00", "met"},
		{"name", "7 ms", "", "at least 8 ms", "missed"},
	}
	if diff := cmp.Diff(want, b.figures, cmp.AllowUnexported(figure{})); diff != "" {
		t.Error(diff)
	}
}

func TestForPgbench(t *testing.T) {
	t.Parallel()
	s := statement{"FeedPage", "-- name: FeedPage\nSELECT $1, $11, $2, $3\n  -- kept\nFROM t WHERE $4 = $5 AND $6 < $7 AND $8 AND $9 = $10", []any{
		"ada", true, 21, "it's at 17:34:47 in note:this", new("text"), (*string)(nil), []byte{1, 0xfe}, []string(nil),
		pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}, pgtype.UUID{Bytes: inbox.MaxUUID, Valid: true}, nil,
	}}
	sql, variables, err := s.forPgbench(func(i int) string {
		if i == 0 {
			return ":u"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "SELECT :u, NULL, :feedpage2, :feedpage3\n  -- kept\n" +
		`FROM t WHERE ('it''s at 17:34:47 in note:' || 'this') = ('text') AND NULL < '\x01fe' AND NULL ` +
		"AND ('-infinity') = ('ffffffff-ffff-ffff-ffff-ffffffffffff');\n"
	if diff := cmp.Diff(want, sql); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"feedpage2=true", "feedpage3=21"}, variables); diff != "" {
		t.Error(diff)
	}
	if _, _, err := (statement{"X", "$1", []any{1.5}}).forPgbench(func(int) string { return "" }); err == nil {
		t.Error("an argument of an unknown type has become something")
	}
}

// answering returns a connection on which a request is answered with text.
func answering(t *testing.T, text string) *wire {
	t.Helper()
	near, far := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = far.Read(make([]byte, 100))
		_, _ = far.Write([]byte(text))
		_ = far.Close()
	}()
	t.Cleanup(func() {
		_ = near.Close()
		<-ended
	})
	return &wire{conn: near, reader: bufio.NewReader(near)}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, answer, fault string }{
		{"right", "HTTP/1.1 200 OK\r\nCONTENT-length: 4\r\nX: y\r\n\r\ngood", ""},
		{"wrong", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", "wrong answer: bad"},
		{"refused", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\ngood", "status 503: good"},
		{"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood", "EOF"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n", "without Content-Length"},
		{"no HTTP", "hello\r\n\r\n", "no status line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, tt.answer).ask(&exchange{get("/"), func(body []byte) bool { return string(body) == "good" }})
			if got := fmt.Sprint(err); (err == nil) != (tt.fault == "") || !strings.Contains(got, tt.fault) {
				t.Errorf("got %v, want %q", err, tt.fault)
			}
		})
	}
}

func TestDispatchesAreNew(t *testing.T) {
	t.Parallel()
	newSource, err := newDispatches([]string{"ada"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for c := range connections {
		next := newSource(c)
		for range 100 {
			request := string(next().request)
			if seen[request] || strings.Contains(request, runMark) || !strings.Contains(request, `"runId":"run-`) {
				t.Fatalf("connection %d: not new, or no run: %s", c, request)
			}
			seen[request] = true
		}
	}
}

func TestArgsForAnother(t *testing.T) {
	t.Parallel()
	args := []any{sampleUser, []string{sampleUser}, 21, "other"}
	got := argsFor(args, "ada")
	if diff := cmp.Diff([]any{"ada", []string{"ada"}, 21, "other"}, got); diff != "" {
		t.Error(diff)
	}
	if args[0] != sampleUser {
		t.Error("the arguments themselves were changed")
	}
}

package transport_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"belfry/graph"
	"belfry/inbox"
	"belfry/transport"
)

// body returns the JSON of a request.
func body(t testing.TB, query string, variables, extensions map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"query": query, "variables": variables, "extensions": extensions})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cpu returns the time that this process has spent computing, of which a busy machine takes nothing away.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// leastCPU returns the least of a few measurements of f.
func leastCPU(t testing.TB, f func()) time.Duration {
	t.Helper()
	least := time.Hour
	for range 5 {
		start := cpu(t)
		f()
		least = min(least, cpu(t)-start)
	}
	return least
}

// newStubAPI returns an API with introspection whose viewer is ada, and which resolves nothing else.
func newStubAPI(t testing.TB) http.Handler {
	t.Helper()
	viewer := func(context.Context) (*inbox.User, error) { return &inbox.User{ID: "ada"}, nil }
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: stub{viewer: viewer}})
	return transport.New(t.Context(), schema, transport.Config{
		Logger: slog.New(slog.DiscardHandler), Introspection: true,
		PrepareResponse: func(ctx context.Context) context.Context { return ctx },
	})
}

// Hostile documents are refused with the right code, or are let through to validation because it is
// certain to take few steps. The time itself is the benchmark's; the log shows it. Not parallel, for the
// log's sake.
func TestHostileDocuments(t *testing.T) {
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	h := newStubAPI(t)
	for _, d := range hostileDocuments() {
		request := body(t, d.document, nil, nil)
		start := cpu(t)
		rec := post(t.Context(), h, strings.NewReader(request))
		spent := cpu(t) - start
		code, message := "", ""
		// A resolver that the stub hasn't is no fault of the document.
		if errs := errorsOf(t, rec); len(errs) > 0 && errs[0].Extensions["code"] != "INTERNAL" {
			code, _ = errs[0].Extensions["code"].(string)
			message = errs[0].Message
		}
		if code != d.code {
			t.Errorf("%s: got %q, want %q: %.300s", d.name, code, d.code, rec.Body)
		}
		steps := 0
		doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: d.document}, transport.MaxTokens)
		if err == nil && len(d.document) < 128<<10 && transport.Measure(schema, doc) == nil {
			if steps = transport.ValidationSteps(schema, doc); steps > transport.MaxValidationSteps {
				t.Errorf("%s: got %d steps, want at most %d", d.name, steps, transport.MaxValidationSteps)
			}
		}
		t.Logf("%-40s %8d B %5d steps %7.2f ms CPU  %s %.90s", d.name, len(d.document), steps, spent.Seconds()*1e3, code, message)
	}
}

// The bound of 20 ms of CPU for any document. Documents that are let through are asked in a new handler
// each time, since a second time they come from the cache.
func BenchmarkHostileDocuments(b *testing.B) {
	const limit = 20 * time.Millisecond
	for _, d := range hostileDocuments() {
		b.Run(d.name, func(b *testing.B) {
			request := body(b, d.document, nil, nil)
			worst := time.Duration(0)
			for b.Loop() {
				spent := leastCPU(b, func() {
					h := newStubAPI(b)
					post(b.Context(), h, strings.NewReader(request))
				})
				worst = max(worst, spent)
			}
			b.ReportMetric(worst.Seconds()*1e3, "cpu-ms/document")
			if worst > limit {
				b.Errorf("%s: got %v of CPU, want at most %v", d.name, worst, limit)
			}
		})
	}
}

// A large document such as a generating client makes: many fragments, and __typename in every set.
func TestLargeButOrdinaryDocuments(t *testing.T) {
	t.Parallel()
	introspection, err := os.ReadFile("testdata/introspection.graphql")
	if err != nil {
		t.Fatal(err)
	}
	const notification = `__typename id kind category title body url data createdAt readAt archivedAt actor { __typename userId displayName avatarUrl }`
	tests := map[string]string{
		"introspection":         string(introspection),
		"50 aliases":            `{ viewer {` + numbered(50, ` a%d: id`) + ` } }`,
		"20 root fields":        `{` + numbered(20, ` a%d: viewer { __typename id userId }`) + ` }`,
		"20 pages of 5":         `{ viewer { __typename ` + numbered(20, `p%d: notifications(first: 5) { __typename nodes { `+notification+` } } `) + ` } }`,
		"fragments of a client": `{ viewer {` + numbered(20, ` ...Part%d`) + ` } }` + numbered(20, ` fragment Part%d on User { __typename id ...Name settings { __typename id theme locale timeZone emailDigest } }`) + ` fragment Name on User { __typename id account { __typename id displayName avatarUrl } }`,
		"everything twice":      `{ viewer {` + strings.Repeat(` ...Everything`, 2) + ` } } fragment Everything on User { __typename id userId account { __typename id email displayName avatarUrl createdAt } settings { __typename id theme locale timeZone emailDigest updatedAt preferences { __typename category channel enabled } } unreadCount unseenCount notifications(first: 100) { __typename edges { __typename cursor node { ` + notification + ` } } nodes { ` + notification + ` } pageInfo { __typename hasNextPage hasPreviousPage startCursor endCursor } } }`,
	}
	for name, query := range tests {
		h := newStubAPI(t)
		rec := post(t.Context(), h, strings.NewReader(body(t, query, nil, nil)))
		for _, e := range errorsOf(t, rec) {
			if e.Extensions["code"] != "INTERNAL" { // the stub has no more resolvers
				t.Errorf("%s: got %v", name, e)
			}
		}
	}
}

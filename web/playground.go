// Package web holds what a browser gets from Belfry.
package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// bundle is what `make web` builds: a page, which is a template, and gzipped files with a hash in their
// names.
//
//go:embed playground/dist
var bundle embed.FS

// operations holds what the page's tabs are opened with.
//
//go:embed playground/operations
var operations embed.FS

// contentSecurityPolicy lets nothing in that this server does not send. Monaco stays hidden without its
// inline styles, and brings its fonts and images as data. 'self' covers the WebSocket on the same origin.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"font-src 'self' data:; img-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// PlaygroundConfig says what the playground's page is filled with.
type PlaygroundConfig struct {
	// Endpoint is the path of the API on the server that sends the page, for HTTP and WebSocket.
	Endpoint string
	// Token returns the bearer token to fill into a page, for each page anew, since tokens expire. Where
	// it is empty, the reader has to bring one.
	Token func(*http.Request) string
}

// NewPlayground returns the handler of /playground and what is below: GraphiQL, which needs no other
// server.
func NewPlayground(cfg PlaygroundConfig) http.Handler {
	p := &playground{cfg, template.Must(template.ParseFS(bundle, "playground/dist/index.html")), readTabs()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /playground", p.servePage)
	mux.Handle("GET /playground/{$}", http.RedirectHandler("/playground", http.StatusFound))
	mux.HandleFunc("GET /playground/{file}", serveFile)
	return harden(mux)
}

// playground serves the page.
type playground struct {
	cfg  PlaygroundConfig
	page *template.Template
	tabs []tab
}

// tab is a tab of GraphiQL. Its title is the operation's name.
type tab struct {
	Query     string `json:"query"`
	Variables string `json:"variables,omitempty"`
}

// settings is what the page's script reads: see playground/src/config.js.
type settings struct {
	Endpoint string            `json:"endpoint"`
	Headers  map[string]string `json:"headers"`
	Tabs     []tab             `json:"tabs"`
}

// readTabs returns a tab for each operation, in the order of their names. NAME.json beside NAME.graphql
// holds its variables.
func readTabs() []tab {
	var tabs []tab
	names, _ := fs.Glob(operations, "playground/operations/*.graphql") // the pattern is well-formed
	for _, name := range names {
		query, _ := operations.ReadFile(name) // it is in the program
		variables, _ := operations.ReadFile(strings.TrimSuffix(name, ".graphql") + ".json")
		tabs = append(tabs, tab{strings.TrimSpace(string(query)), strings.TrimSpace(string(variables))})
	}
	return tabs
}

func (p *playground) servePage(w http.ResponseWriter, r *http.Request) {
	headers := map[string]string{"Authorization": "Bearer " + p.cfg.Token(r)}
	var text bytes.Buffer
	if err := p.page.Execute(&text, settings{p.cfg.Endpoint, headers, p.tabs}); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// no-store as well: there may be a token in it.
	w.Header().Set("Cache-Control", "no-cache, no-store")
	send(w, r, text.Bytes())
}

// serveFile sends a file of the bundle as it is stored, or inflated to a client that can't do it.
func serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	zipped, err := bundle.ReadFile("playground/dist/" + name + ".gz")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if !hasHash(name) {
		w.Header().Set("Cache-Control", "no-cache")
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if acceptsGzip(strings.Join(r.Header.Values("Accept-Encoding"), ",")) {
		w.Header().Set("Content-Encoding", "gzip")
		send(w, r, zipped)
		return
	}
	text, err := inflate(zipped)
	if err != nil {
		http.Error(w, "the file is broken", http.StatusInternalServerError)
		return
	}
	send(w, r, text)
}

func send(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) //nolint:gosec // html/template has escaped the page; all else is the bundle's
	}
}

// inflate returns what a gzip file of one member holds. Its last four bytes tell the size (RFC 1952,
// section 2.3.1).
func inflate(zipped []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	text := make([]byte, binary.LittleEndian.Uint32(zipped[len(zipped)-4:]))
	_, err = io.ReadFull(reader, text)
	return text, err
}

// hasHash reports whether a file's name changes with its content.
func hasHash(name string) bool { return strings.Contains(name, "-") }

func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3).
func acceptsGzip(header string) bool {
	anything := false
	for element := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(element, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return isAcceptable(weight)
		case "*":
			anything = isAcceptable(weight)
		}
	}
	return anything
}

// isAcceptable reports whether a weight such as "q=0.5" is above zero, as none is. What can't be read is
// not, since the plain file is always right.
func isAcceptable(weight string) bool {
	weight = strings.ToLower(strings.TrimSpace(weight))
	if weight == "" {
		return true
	}
	q, err := strconv.ParseFloat(strings.TrimPrefix(weight, "q="), 64)
	return err == nil && q > 0
}

// harden keeps the page to itself.
func harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", contentSecurityPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

package web

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// request asks a playground whose pages have the token. encoding is the Accept-Encoding.
func request(t *testing.T, method, target, encoding, token string) *httptest.ResponseRecorder {
	t.Helper()
	cfg := PlaygroundConfig{Endpoint: "/graphql", Token: func(*http.Request) string { return token }}
	return ask(t, cfg, method, target, encoding)
}

func ask(t *testing.T, cfg PlaygroundConfig, method, target, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	NewPlayground(cfg).ServeHTTP(w, r)
	return w
}

// filled is what a page's script reads.
func filled(t *testing.T, page string) settings {
	t.Helper()
	match := regexp.MustCompile(`(?s)<script type="application/json" id="config">(.*?)</script>`).FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("no configuration in %s", page)
	}
	var s settings
	if err := json.Unmarshal([]byte(match[1]), &s); err != nil {
		t.Fatalf("%v: %s", err, match[1])
	}
	return s
}

func TestPage(t *testing.T) {
	t.Parallel()
	w := request(t, http.MethodGet, "/playground", "gzip", "a.b.c")
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d", w.Code)
	}
	want := map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Cache-Control":           "no-cache, no-store",
		"Content-Security-Policy": contentSecurityPolicy,
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
	}
	got := map[string]string{}
	for name := range want {
		got[name] = w.Header().Get(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	s := filled(t, w.Body.String())
	if s.Endpoint != "/graphql" || s.Headers["Authorization"] != "Bearer a.b.c" {
		t.Errorf("filled in: %+v", s)
	}
}

// What a page is filled with can't end its script, whoever made it, and reaches the script as it was.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{
		`</script><script>alert(1)</script>`, `<!--<script>`, `]]>`, `"};alert(1);//`, `{{.}}`, `'"\`, "\u2028\u2029",
		`&lt;/script&gt;`, `%3C/script%3E`, "\x00\x01\n",
	} {
		cfg := PlaygroundConfig{Endpoint: hostile, Token: func(*http.Request) string { return hostile }}
		page := ask(t, cfg, http.MethodGet, "/playground", "").Body.String()
		plain := request(t, http.MethodGet, "/playground", "", "").Body.String()
		for _, mark := range []string{"<script", "</script", "<!--", "]]>"} {
			if got, want := strings.Count(page, mark), strings.Count(plain, mark); got != want {
				t.Errorf("%q: %d times %q, want %d", hostile, got, mark, want)
			}
		}
		s := filled(t, page)
		if s.Endpoint != hostile || s.Headers["Authorization"] != "Bearer "+hostile {
			t.Errorf("%q: filled in %+v", hostile, s)
		}
	}
}

// storedFile is a file of the bundle.
type storedFile struct{ zipped, text string }

// storedFiles returns the bundle by the names that it is served under. It is inflated once: under the race
// detector that takes seconds.
var storedFiles = sync.OnceValues(func() (map[string]storedFile, error) {
	names, err := fs.Glob(bundle, "playground/dist/*.gz")
	files := map[string]storedFile{}
	for _, name := range names {
		zipped, readErr := bundle.ReadFile(name)
		text, inflateErr := inflate(zipped)
		err = errors.Join(err, readErr, inflateErr)
		files[strings.TrimSuffix(path.Base(name), ".gz")] = storedFile{string(zipped), string(text)}
	}
	return files, err
})

func TestFiles(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	}
	files, err := storedFiles()
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, want := range files {
		zipped := request(t, http.MethodGet, "/playground/"+name, "br, gzip", "")
		if zipped.Body.String() != want.zipped || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: not what is stored, for a client that can inflate", name)
		}
		plain := request(t, http.MethodGet, "/playground/"+name, "", "")
		if plain.Body.String() != want.text || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: not what is stored, for a client that can't inflate", name)
		}
		cache := "public, max-age=31536000, immutable"
		if name == "licenses.txt" {
			cache = "no-cache"
		}
		for _, w := range []*httptest.ResponseRecorder{zipped, plain} {
			got := []string{w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Header().Get("Vary")}
			if diff := cmp.Diff([]string{types[path.Ext(name)], cache, "Accept-Encoding"}, got); diff != "" {
				t.Errorf("%s: headers (-want +got):\n%s", name, diff)
			}
		}
	}
}

// The bundle is whole, and holds nothing that nobody asks for.
func TestReferences(t *testing.T) {
	t.Parallel()
	files, err := storedFiles()
	if err != nil {
		t.Fatal(err)
	}
	page := request(t, http.MethodGet, "/playground", "", "").Body.String()
	named := regexp.MustCompile(`[\w.]+-[0-9A-Z]{8}\.\w+|licenses\.txt`).FindAllString(page, -1)
	chunk := regexp.MustCompile(`\./([\w.]+-[0-9A-Z]{8}\.\w+)`)
	for name, file := range files {
		if name == "licenses.txt" {
			continue
		}
		for _, match := range chunk.FindAllStringSubmatch(file.text, -1) {
			named = append(named, match[1])
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(slices.Compact(named), slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-named +stored):\n%s", diff)
	}
}

// foreignReferences returns what a script or a style sheet says before the name of another host. A regular
// expression takes ten seconds for the bundle under the race detector.
func foreignReferences() []string {
	var all []string
	for _, host := range []string{"http:", "https:", "//"} {
		all = append(all, "url("+host)
		for _, word := range []string{"from", "import", "import(", "importScripts(", "url(", "Worker("} {
			all = append(all, word+`"`+host, word+"'"+host, word+"`"+host)
		}
	}
	return all
}

// Neither the page nor what it loads asks another host for anything; the browser's test watches that it
// really doesn't.
func TestNoOtherHost(t *testing.T) {
	t.Parallel()
	page := request(t, http.MethodGet, "/playground", "", "").Body.String()
	if match := regexp.MustCompile(`(src|href)="?(https?:)?//[^"]*`).FindString(page); match != "" {
		t.Errorf("the page: %s", match)
	}
	files, err := storedFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		for _, reference := range foreignReferences() {
			if strings.Contains(file.text, reference) {
				t.Errorf("%s: %s", name, reference)
			}
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/playground", "/playground/licenses.txt"} {
		for _, encoding := range []string{"", "gzip"} {
			get, head := request(t, http.MethodGet, target, encoding, "x"), request(t, http.MethodHead, target, encoding, "x")
			if diff := cmp.Diff(get.Header(), head.Header()); diff != "" || head.Code != get.Code || head.Body.Len() != 0 {
				t.Errorf("HEAD %s: HTTP %d, %d bytes, headers (-GET +HEAD):\n%s", target, head.Code, head.Body.Len(), diff)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, target string
		code           int
	}{
		{http.MethodGet, "/playground/", http.StatusFound},
		{http.MethodGet, "/playground/nothing.js", http.StatusNotFound},
		{http.MethodGet, "/playground/index.html", http.StatusNotFound},
		{http.MethodGet, "/playground/licenses.txt.gz", http.StatusNotFound},
		{http.MethodGet, "/playground/a/b.js", http.StatusNotFound},
		{http.MethodGet, "/playground/..%2foperations%2f1-inbox.graphql", http.StatusNotFound},
		{http.MethodGet, "/playground/%2e%2e%2flicenses.txt", http.StatusNotFound},
		{http.MethodGet, "/playground/..%5clicenses.txt", http.StatusNotFound},
		{http.MethodGet, "/playground/.%2flicenses.txt", http.StatusNotFound},
		{http.MethodGet, "/playground/%00", http.StatusNotFound},
		{http.MethodPost, "/playground", http.StatusMethodNotAllowed},
		{http.MethodPut, "/playground/licenses.txt", http.StatusMethodNotAllowed},
	}
	for _, tt := range tests {
		w := request(t, tt.method, tt.target, "", "secret")
		if w.Code != tt.code || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s %s: HTTP %d, want %d: %s", tt.method, tt.target, w.Code, tt.code, w.Body)
		}
		if w.Header().Get("Content-Security-Policy") == "" || strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s %s: headers %v", tt.method, tt.target, w.Header())
		}
		if allow := w.Header().Get("Allow"); tt.code == http.StatusMethodNotAllowed && allow != "GET, HEAD" {
			t.Errorf("%s %s: Allow %q", tt.method, tt.target, allow)
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"": false, "gzip": true, "GZip": true, "x-gzip": true, "br, gzip;q=0.5": true, "deflate,gzip ; q=1": true,
		"*": true, "*;q=0.1": true, "br": false, "identity": false, "gzip;q=0": false, "gzip; q=0.000": false,
		"*, gzip;q=0": false, "gzip;q=0, *": false, "*;q=0, gzip": true, "gzip;q=often": false, "gzip;q=-1": false,
		"gzip;Q=0.5": true, ",": false, "gzipped": false,
	}
	for header, want := range tests {
		if got := acceptsGzip(header); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

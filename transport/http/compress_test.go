package http_test

import (
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An answer of 1 kB and more is compressed for clients that take gzip, and says the same.
func TestCompression(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	fields := func(n int) (body, want string) {
		var query, data strings.Builder
		for i := range n {
			name := "aRatherLongNameOfAField" + strconv.Itoa(i)
			query.WriteString(name + ": userId ")
			data.WriteString(`,"` + name + `":"ada"`)
		}
		return `{"query":"{ viewer { ` + query.String() + `} }"}`, `{"data":{"viewer":{` + data.String()[1:] + `}}}`
	}
	for _, tt := range []struct {
		name, accept string
		fields       int
		want         string
	}{
		{"large", "gzip, deflate, br, zstd", 40, "gzip"},
		{"large, by a weight", "gzip;q=0.5", 40, "gzip"},
		{"large, refused", "gzip;q=0", 40, ""},
		{"large, nothing taken", "", 40, ""},
		{"large, something else", "br", 40, ""},
		{"small", "gzip", 5, ""},
	} {
		body, want := fields(tt.fields)
		rec := post(h, body, "Accept-Encoding", tt.accept)
		encoding := rec.Header().Get("Content-Encoding")
		if encoding != tt.want {
			t.Errorf("%s: Content-Encoding: got %q, want %q", tt.name, encoding, tt.want)
		}
		got := rec.Body.String()
		if encoding == "gzip" {
			if rec.Body.Len() > len(want)/2 {
				t.Errorf("%s: got %d bytes for %d", tt.name, rec.Body.Len(), len(want))
			}
			reader, err := gzip.NewReader(rec.Body)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		} else if got, want := rec.Header().Get("Content-Length"), strconv.Itoa(rec.Body.Len()); got != want {
			t.Errorf("%s: Content-Length: got %s, want %s", tt.name, got, want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got := rec.Header().Get("Vary"); !strings.Contains(got, "Accept-Encoding") {
			t.Errorf("%s: Vary: got %q", tt.name, got)
		}
	}
}

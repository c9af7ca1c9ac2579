package archive

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// allLines reads everything and writes it as number, text and fault.
func allLines(in io.Reader) (texts []string, err error) {
	r := newReader(in)
	for err == nil {
		var lines []line
		lines, err = r.next()
		for _, l := range lines {
			text := fmt.Sprintf("%d %.20s", l.number, l.text)
			if l.err != nil {
				text += l.err.Error()
			}
			texts = append(texts, text)
		}
	}
	return texts, err
}

func TestReader(t *testing.T) {
	t.Parallel()
	long, longest := strings.Repeat("x", MaxLine+1), strings.Repeat("y", MaxLine)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"a byte-order mark", "\ufeffa\nb\n", []string{"1 a", "2 b"}},
		{"a byte-order mark alone", "\ufeff", nil},
		{"a second mark is text", "\ufeff\ufeffa", []string{"1 \ufeffa"}},
		{"CRLF", "a\r\nb\r\n", []string{"1 a", "2 b"}},
		{"CR within", "a\rb\n", []string{"1 a\rb"}},
		{"empty lines count", "\n\na\n \t\r\n\nb", []string{"3 a", "6 b"}},
		{"no last line break", "a\nb", []string{"1 a", "2 b"}},
		{"longest", longest + "\r\n" + longest, []string{"1 yyyyyyyyyyyyyyyyyyyy", "2 yyyyyyyyyyyyyyyyyyyy"}},
		{"too long", "a\n" + long + "\nb\n", []string{"1 a", "2 is longer than 1048576 bytes", "3 b"}},
		{"too long by a carriage return", longest + "\r\rx\nb", []string{"1 is longer than 1048576 bytes", "2 b"}},
		{"too long at the end", long, []string{"1 is longer than 1048576 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := allLines(strings.NewReader(tt.text))
			if !errors.Is(err, io.EOF) {
				t.Errorf("got error %v, want EOF", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// endless returns n bytes without a line break, and then a line.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	if e.n -= n; e.n == 0 {
		copy(p[n-2:n], "\nz")
	}
	return n, nil
}

// A line of 64 MB takes no more memory than the longest that is read.
func TestReaderPassesOverLongLines(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := allLines(&endless{64 << 20})
	runtime.ReadMemStats(&after)
	if diff := cmp.Diff([]string{"1 is longer than 1048576 bytes", "2 z"}, got); diff != "" || !errors.Is(err, io.EOF) {
		t.Errorf("error %v, lines (-want +got):\n%s", err, diff)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated for a line that is passed over", grown)
	}
}

// What was read before the input broke is there, and half a line is not.
func TestReaderFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := allLines(io.MultiReader(strings.NewReader("a\nb\nhal"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]string{"1 a", "2 b"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

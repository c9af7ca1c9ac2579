package archive

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Whatever is read is valid JSON of valid UTF-8, and what is written of it is read as the same.
func FuzzDecode(f *testing.F) {
	for _, line := range good {
		f.Add(line)
	}
	f.Add(notificationLineOf(`,"runId":"1","body":"\ud83d\udc23\u0041","data":{"b":1e999,"a":"\u2028"}`))
	f.Fuzz(func(t *testing.T, line string) {
		var s scanner
		record, err := s.decode(line, now)
		if err != nil {
			if text := err.Error(); !utf8.ValidString(text) || len(text) > 64<<10 || bytes.ContainsAny([]byte(text), "\n\r\x1b") {
				t.Errorf("error %q", text)
			}
			return
		}
		if !json.Valid([]byte(line)) || !utf8.ValidString(line) {
			t.Errorf("%q is taken for JSON", line)
		}
		var first, second bytes.Buffer
		if err := NewEncoder(&first).Encode(record); err != nil {
			t.Fatal(err)
		}
		again, err := s.decode(string(bytes.TrimSuffix(first.Bytes(), []byte("\n"))), now)
		if err != nil {
			t.Fatalf("%v: %s", err, first.String())
		}
		if err := NewEncoder(&second).Encode(again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.String(), second.String()); diff != "" {
			t.Errorf("line (-first +second):\n%s", diff)
		}
	})
}

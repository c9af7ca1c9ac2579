package normal_test

import (
	"testing"

	"belfry/normal"
)

func TestTag(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"b": "b", " b\t": "b", "Cafe\u0301": "Caf\u00e9", "\u00a0Caf\u00e9\u2003": "Caf\u00e9", "a b": "a b", "": "", " ": "",
	} {
		if got := normal.Tag(tag); got != want {
			t.Errorf("%q: got %q, want %q", tag, got, want)
		}
	}
}

package render_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"belfry/render"
)

func generated(m graphql.Marshaler) string {
	var buf bytes.Buffer
	m.MarshalGQL(&buf)
	return buf.String()
}

// Every byte, at every place among the eight that are looked at together and behind them.
func TestAppendStringEscapesAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for ahead := range 18 {
			s := strings.Repeat("a", ahead) + string([]byte{byte(c)}) + "\xff\u2028é"
			got, want := string(render.AppendString(nil, s)), generated(graphql.MarshalString(s))
			if got != want {
				t.Fatalf("%q: got %s, want %s", s, got, want)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain text of many letters", "\x00\"\\\n", "\xc3\x28\xa0\xa1", "日本語の通知"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, want := string(render.AppendString([]byte("x"), s)), "x"+generated(graphql.MarshalString(s))
		if got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func TestAppendScalars(t *testing.T) {
	t.Parallel()
	viaMarshaler := func(m graphql.Marshaler) []byte {
		b, ok := render.AppendMarshaler([]byte{}, m)
		if !ok {
			t.Errorf("%s was refused", generated(m))
		}
		return b
	}
	tests := []struct{ got, want string }{
		{string(render.AppendInt(nil, int32(math.MinInt32))), generated(graphql.MarshalInt32(math.MinInt32))},
		{string(render.AppendInt(nil, int64(math.MaxInt64))), generated(graphql.MarshalInt64(math.MaxInt64))},
		{string(render.AppendBoolean(nil, true)), generated(graphql.MarshalBoolean(true))},
		{string(render.AppendBoolean(nil, false)), generated(graphql.MarshalBoolean(false))},
		{string(render.AppendNull(nil)), generated(graphql.Null)},
		{string(viaMarshaler(graphql.MarshalString("a\n"))), generated(graphql.MarshalString("a\n"))},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
	for _, v := range []float64{0, -1, 1e20, 1e21, 1e-5, 0.1, 123456789, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		got, ok := render.AppendFloat(nil, v)
		if want := generated(graphql.WrapContextMarshaler(t.Context(), graphql.MarshalFloatContext(v))); string(got) != want || !ok {
			t.Errorf("got %s, %v; want %s", got, ok, want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, ok := render.AppendFloat(nil, v); ok {
			t.Errorf("%v was taken", v)
		}
	}
	if _, ok := render.AppendMarshaler(nil, graphql.Null); ok {
		t.Error("a null was taken, which may be an error")
	}
}

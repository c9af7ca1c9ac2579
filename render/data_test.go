package render_test

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"belfry/graph"
	"belfry/inbox"
)

// data answers every resolver with random values, the same ones for the same seed and path.
type data struct {
	seed uint64
	// nulls is how many in 100 pointers are nil, those among them that the schema does not allow.
	nulls int
	// most is the length of the longest list.
	most int
}

// random returns a source for the value at a path.
func (d data) random(path string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	return rand.New(rand.NewPCG(d.seed, h.Sum64()))
}

// resolve returns the value of a field that has a resolver.
func (d data) resolve(fc *graphql.FieldContext) any {
	r := d.random(fc.Path().String())
	result := resolverResult(fc.Object, fc.Field.Name)
	if result.Kind() != reflect.Chan {
		return d.value(r, result, 0).Interface()
	}
	events := reflect.MakeChan(reflect.ChanOf(reflect.BothDir, result.Elem()), 3)
	for range events.Cap() {
		events.Send(d.value(r, result.Elem(), 0))
	}
	events.Close()
	return events.Convert(result).Interface()
}

// resolverResult returns the Go type that the resolver of a field returns.
func resolverResult(object, field string) reflect.Type {
	resolver, ok := reflect.TypeFor[graph.ResolverRoot]().MethodByName(object)
	if !ok {
		return nil
	}
	of := resolver.Type.Out(0)
	for m := range of.Methods() {
		if strings.EqualFold(m.Name, field) {
			return m.Type.Out(0)
		}
	}
	return nil
}

// value makes a random value of a Go type.
func (d data) value(r *rand.Rand, t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch made := v.Addr().Interface().(type) {
	case *time.Time:
		*made = randomTime(r)
		return v
	case *json.RawMessage:
		*made = json.RawMessage(pick(r, `{"a":[1,2,{"b":"<é\n>"}]}`, `null`, `"x"`, `[]`, ` { } `))
		return v
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(randomString(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(int32(r.Uint32())) >> r.IntN(32))
	case reflect.Uint8:
		v.SetUint(r.Uint64N(256))
	case reflect.Pointer:
		if r.IntN(100) >= d.nulls {
			v.Set(reflect.New(t.Elem()))
			v.Elem().Set(d.value(r, t.Elem(), depth))
		}
	case reflect.Slice:
		if r.IntN(100) >= d.nulls {
			v.Set(reflect.MakeSlice(t, r.IntN(max(1, d.most>>depth)+1), d.most))
		}
		for i := range v.Len() {
			v.Index(i).Set(d.value(r, t.Elem(), depth+1))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(d.value(r, t.Elem(), depth))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			v.Field(i).Set(d.value(r, t.Field(i).Type, depth))
		}
	case reflect.Interface:
		if r.IntN(100) >= d.nulls {
			types := nodes()
			if t == reflect.TypeFor[graph.InboxEvent]() {
				types = events
			}
			v.Set(d.value(r, types[r.IntN(len(types))], depth))
		}
	default:
		panic("no random " + t.String())
	}
	return v
}

// events are the types of events, which no resolver names.
var events = []reflect.Type{
	reflect.TypeFor[*graph.InboxSnapshot](), reflect.TypeFor[*graph.NotificationCreated](),
	reflect.TypeFor[*graph.NotificationsUpdated](), reflect.TypeFor[*graph.AllNotificationsRead](),
	reflect.TypeFor[*graph.NotificationsDeleted](),
}

// nodes finds the types of nodes: they are what resolvers return, or part of it.
var nodes = sync.OnceValue(func() []reflect.Type {
	var found []reflect.Type
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer:
			if t.Implements(reflect.TypeFor[inbox.Node]()) {
				found = append(found, t)
			}
			walk(t.Elem())
		case reflect.Slice, reflect.Chan:
			walk(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		default:
		}
	}
	for resolver := range reflect.TypeFor[graph.ResolverRoot]().Methods() {
		for field := range resolver.Type.Out(0).Methods() {
			walk(field.Type.Out(0))
		}
	}
	return found
})

func randomTime(r *rand.Rand) time.Time {
	year := pick(r, 2026, 1970, 1, 0, 9999, 10000, -1)
	t := time.Date(year, time.Month(r.IntN(14)), r.IntN(32), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e9), time.UTC)
	return pick(r, t, t.Truncate(time.Second), t.In(time.FixedZone("", r.IntN(86400)-43200)), time.Time{})
}

// randomString returns text with all that has to be escaped, that must not be, and that is no text.
func randomString(r *rand.Rand) string {
	parts := []string{
		"", "a", "plain text ", "é", "日本", "🛎", "\"", "\\", "\n\r\t", "\x00\x1f", "\x7f", "\u2028", "</script>&",
		"\xff", "\xc3", "\xed\xa0\x80", "\xf0\x9f", "UNREAD", "EXPO",
	}
	var s strings.Builder
	for range r.IntN(6) {
		s.WriteString(parts[r.IntN(len(parts))])
	}
	return s.String()
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

package main

import (
	"maps"
	"slices"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/vektah/gqlparser/v2/ast"
)

// plain knows which types can be appended without asking anybody: those of which every field is at hand.
type plain struct {
	objects map[string]bool
	data    *codegen.Data
}

// plainTypes takes all objects for plain and then takes out, until nothing changes, those with a field that
// is not. So a type that holds itself is plain.
func plainTypes(data *codegen.Data) plain {
	p := plain{map[string]bool{}, data}
	// A directive on the fields of a document would have to be asked about each of them.
	if len(data.AllDirectives.LocationDirectives(string(ast.LocationField))) > 0 {
		return p
	}
	for _, o := range data.Objects {
		p.objects[o.Name] = !o.Root && !o.IsReserved() && !o.IsMap()
	}
	for changed := true; changed; {
		changed = false
		for _, o := range data.Objects {
			isField := func(f *codegen.Field) bool { return p.field(f) }
			if p.objects[o.Name] && !all(o.Fields, isField) {
				p.objects[o.Name], changed = false, true
			}
		}
	}
	return p
}

func (p plain) field(f *codegen.Field) bool {
	atHand := f.IsVariable() || f.IsMethod() && f.NoErr && !f.VOkFunc && !f.MethodHasContext
	return atHand && !f.IsResolver && !f.IsBatch() && !f.HasHaser && len(f.Args) == 0 && !f.HasDirectives() &&
		p.value(f.TypeReference)
}

// value reports whether a value of a type is plain.
func (p plain) value(r *config.TypeReference) bool {
	isType := func(name string) bool { return p.objects[name] }
	return p.shape(r) && (r.Definition.IsLeafType() || all(p.types(r.Definition), isType))
}

// renders reports whether a field of an object with resolvers is worth rendering: whether it may be plain, and
// is more than a scalar. An interface may hold plain objects and others.
func (p plain) renders(r *config.TypeReference) bool {
	isType := func(name string) bool { return p.objects[name] }
	if r.Definition.IsLeafType() {
		return r.IsSlice() && p.shape(r)
	}
	return p.shape(r) && slices.ContainsFunc(p.types(r.Definition), isType)
}

// shape reports whether the Go type is one that the template knows.
func (p plain) shape(r *config.TypeReference) bool {
	switch {
	case r.IsSlice():
		return p.shape(r.Elem())
	case r.IsPtrToSlice(), r.IsPtrToIntf(), r.IsPtrToPtr(), r.HasEnumValues():
		return false
	case !r.Definition.IsLeafType():
		return !r.IsMarshaler
	case r.IsContext:
		return r.Marshaler != nil && scalarFuncs[r.Marshaler.FullName()] != ""
	}
	return r.IsMarshaler || r.Marshaler != nil
}

// types returns the names of the objects that a value of a type can be.
func (p plain) types(d *ast.Definition) []string {
	var names []string
	for _, possible := range p.data.Schema.GetPossibleTypes(d) {
		names = append(names, possible.Name)
	}
	return names
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !is(v) })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

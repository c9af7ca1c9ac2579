package main

import (
	_ "embed"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/codegen"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/codegen/templates"
	"github.com/99designs/gqlgen/plugin"
)

//go:embed render.gotpl
var renderTemplate string

// renderPlugin is a plugin of gqlgen. It writes the functions that append objects as JSON, and the field
// middleware that calls them.
type renderPlugin struct{ filename string }

var _ plugin.CodeGenerator = renderPlugin{}

func newPlugin(cfg *config.Config) renderPlugin {
	return renderPlugin{filepath.Join(filepath.Dir(cfg.Exec.Filename), "render_gen.go")}
}

// Name names the plugin to gqlgen.
func (renderPlugin) Name() string { return "render" }

// GenerateCode writes the file.
func (p renderPlugin) GenerateCode(data *codegen.Data) error {
	return templates.Render(templates.Options{
		PackageName:     data.Config.Exec.Package,
		Filename:        p.filename,
		Template:        renderTemplate,
		Data:            newFile(data),
		GeneratedHeader: true,
		Packages:        data.Config.Packages,
		PruneOptions:    data.Config.GetPruneOptions(),
		Funcs: map[string]any{
			"appendFunc": appendFunc, "selectFunc": selectFunc, "scalarCall": scalarCall, "appendTwin": appendTwin,
		},
	})
}

// file is what the template is given.
type file struct {
	// Parents are the objects that have resolvers, each with its fields of plain values.
	Parents []parent
	// Objects are the plain objects.
	Objects []*codegen.Object
	// Interfaces are those of which at least one type is plain.
	Interfaces []face
	// References are the types of all the values that are appended, as Go and GraphQL see them.
	References []*config.TypeReference
}

type parent struct {
	Name   string
	Fields []*codegen.Field
}

// face is an interface or a union, with its plain types.
type face struct {
	*codegen.Interface
	Plain []codegen.InterfaceImplementor
}

func newFile(data *codegen.Data) file {
	plain := plainTypes(data)
	var f file
	references := map[string]*config.TypeReference{}
	for _, o := range data.Objects {
		switch {
		case plain.objects[o.Name]:
			f.Objects = append(f.Objects, o)
			for _, field := range o.Fields {
				addReferences(references, field.TypeReference)
			}
		case !o.Stream && !o.IsReserved():
			p := parent{Name: o.Name}
			for _, field := range o.Fields {
				if plain.renders(field.TypeReference) {
					p.Fields = append(p.Fields, field)
					addReferences(references, field.TypeReference)
				}
			}
			if len(p.Fields) > 0 {
				f.Parents = append(f.Parents, p)
			}
		}
	}
	for _, key := range sortedKeys(references) {
		f.References = append(f.References, references[key])
	}
	for _, name := range sortedKeys(data.Interfaces) {
		isOf := func(r *config.TypeReference) bool { return r.Definition.Name == name }
		if slices.ContainsFunc(f.References, isOf) {
			f.Interfaces = append(f.Interfaces, newFace(data.Interfaces[name], plain))
		}
	}
	return f
}

func newFace(i *codegen.Interface, plain plain) face {
	f := face{Interface: i}
	for _, implementor := range i.Implementors {
		if plain.objects[implementor.Name] {
			f.Plain = append(f.Plain, implementor)
		}
	}
	return f
}

// addReferences notes the type of a value, and those of a list's elements.
func addReferences(to map[string]*config.TypeReference, r *config.TypeReference) {
	to[r.UniquenessKey()] = r
	if r.IsSlice() {
		addReferences(to, r.Elem())
	}
}

func appendFunc(r *config.TypeReference) string { return "append" + r.UniquenessKey() }

// selectFunc names the function that prepares a selection on a type; nil for a type without fields.
func selectFunc(r *config.TypeReference) string {
	if r.Definition.IsLeafType() {
		return "nil"
	}
	return "select" + r.Definition.Name
}

// appendTwin returns the method AppendX beside the method X that a field is read by, "" where there is none.
// It appends the string that X returns, which must have nothing to escape.
func appendTwin(f *codegen.Field) string {
	if !f.IsMethod() || f.TypeReference.Marshaler == nil || scalarFuncs[f.TypeReference.Marshaler.FullName()] != appendString {
		return ""
	}
	name := "Append" + f.GoFieldName
	method, _, _ := types.LookupFieldOrMethod(types.NewPointer(f.Object.Type), true, nil, name)
	if method == nil || !types.Identical(method.Type(), appends) {
		return ""
	}
	return name
}

// appends is func([]byte) []byte.
var appends = func() *types.Signature {
	text := types.NewTuple(types.NewVar(0, nil, "", types.NewSlice(types.Typ[types.Byte])))
	return types.NewSignatureType(nil, nil, nil, text, text, false)
}()

const (
	appendString = "belfry/render.AppendString"
	// appendFloat alone can fail.
	appendFloat = "belfry/render.AppendFloat"
)

// scalarFuncs has the function that appends for the one that marshals, for gqlgen's own scalars.
var scalarFuncs = map[string]string{
	"github.com/99designs/gqlgen/graphql.MarshalID":      appendString,
	"github.com/99designs/gqlgen/graphql.MarshalString":  appendString,
	"github.com/99designs/gqlgen/graphql.MarshalBoolean": "belfry/render.AppendBoolean",
	"github.com/99designs/gqlgen/graphql.MarshalInt":     "belfry/render.AppendInt",
	"github.com/99designs/gqlgen/graphql.MarshalInt32":   "belfry/render.AppendInt",
	"github.com/99designs/gqlgen/graphql.MarshalInt64":   "belfry/render.AppendInt",

	"github.com/99designs/gqlgen/graphql.MarshalFloatContext": appendFloat,
}

// scalarCall returns the expression that appends a scalar: by the function AppendX beside the scalar's
// MarshalX, or by way of MarshalX.
func scalarCall(r *config.TypeReference, value string) string {
	marshal := r.Marshaler
	if r.IsMarshaler {
		return "render.AppendMarshaler(b, v)"
	}
	if r.CastType != nil {
		value = templates.CurrentImports.LookupType(r.CastType) + "(" + value + ")"
	}
	twin := scalarFuncs[marshal.FullName()]
	if twin == "" {
		name := "Append" + strings.TrimPrefix(marshal.Name(), "Marshal")
		if marshal.Pkg().Scope().Lookup(name) == nil {
			return "render.AppendMarshaler(b, " + templates.Call(marshal) + "(" + value + "))"
		}
		twin = marshal.Pkg().Path() + "." + name
	}
	dot := strings.LastIndexByte(twin, '.')
	call := templates.CurrentImports.Lookup(twin[:dot]) + twin[dot:] + "(b, " + value + ")"
	if twin != appendFloat {
		call += ", true"
	}
	return call
}

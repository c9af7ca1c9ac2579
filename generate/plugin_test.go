package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/codegen/config"
	"github.com/google/go-cmp/cmp"
)

// What is generated for types of every shape builds, which gqlgen looks at itself, and has a function for
// each plain type and for no other.
func TestGenerate(t *testing.T) {
	got := generateZoo(t)
	var types []string
	for _, m := range regexp.MustCompile(`(?m)^func select(\w+)\(`).FindAllStringSubmatch(got, -1) {
		types = append(types, m[1])
	}
	slices.Sort(types)
	if diff := cmp.Diff([]string{"Animal", "Box", "Cage", "Cat"}, types); diff != "" {
		t.Errorf("types: -want +got:\n%s", diff)
	}
	for _, want := range []string{
		`b = append(obj.AppendID(append(b, '"')), '"')`,
		`obj.Label())`,
		`zoo.AppendDate(b, v), true`,
		`render.AppendMarshaler(b, zoo.MarshalWeight(*v))`,
		`render.AppendFloat(b, v)`,
		`render.AppendMarshaler(b, v)`,
		`appendCat(b, s, &v)`,
		`return appendCage(b, s, v)`,
		`case "animals":`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	for _, unwanted := range []string{"AppendLabel", `case "any":`, `case "zoo":`} {
		if strings.Contains(got, unwanted) {
			t.Errorf("unwanted: %s", unwanted)
		}
	}
}

// generateZoo generates from testdata and returns the plugin's file.
func generateZoo(t *testing.T) string {
	t.Helper()
	cfg, err := config.LoadConfig("testdata/zoo.yml")
	if err != nil {
		t.Fatal(err)
	}
	// gqlgen writes into a package of the module only.
	dir, err := os.MkdirTemp("testdata", "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg.Exec.Filename = filepath.Join(dir, "generated.go")
	cfg.Model.Filename = filepath.Join(dir, "models_gen.go")
	if err := generate(cfg); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "render_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

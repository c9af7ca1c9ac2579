// Package belfry_test holds the rules between packages, which neither the compiler nor a reader of
// one package can see.
package belfry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport says what the code of a package may import beside the standard library; tests may
// import what they like. A name that ends in /... stands for everything below it as well. A package
// that is not here yet needs a row, and a topic of its own.
var mayImport = map[string][]string{
	"inbox":  nil,
	"scalar": {"belfry/inbox", "belfry/render", "github.com/99designs/gqlgen/..."},
	"graph": {
		"belfry/inbox", "belfry/render", "belfry/scalar",
		"github.com/99designs/gqlgen/...", "github.com/vektah/gqlparser/v2/...",
	},
	"render":   {"github.com/99designs/gqlgen/...", "github.com/vektah/gqlparser/v2/..."},
	"generate": {"github.com/99designs/gqlgen/...", "github.com/vektah/gqlparser/v2/..."},
	"storage": {
		"belfry/inbox",
		"github.com/google/uuid", "github.com/jackc/pgx/v5/...", "github.com/pressly/goose/v3/...",
	},
	"storage/storagetest": {
		"belfry/devdb", "belfry/inbox", "belfry/storage",
		"github.com/google/uuid", "github.com/jackc/pgx/v5/...",
	},
	"normal":  {"golang.org/x/text/unicode/norm"},
	"archive": {"belfry/inbox", "belfry/normal"},
	"devdb":   {"belfry/inbox"},
	"auth": {
		"belfry/inbox",
		"github.com/MicahParks/jwkset", "github.com/MicahParks/keyfunc/v3", "github.com/golang-jwt/jwt/v5",
		"github.com/hashicorp/golang-lru/v2",
	},
	"live":         {"belfry/inbox", "github.com/nats-io/nats.go"},
	"push":         {"belfry/inbox", "belfry/storage"},
	"push/expo":    {"belfry/inbox", "belfry/push"},
	"push/webpush": {"belfry/inbox", "belfry/push"},
	"push/exposim": {"belfry/inbox"},
	"retention":    {"belfry/inbox", "belfry/storage"},
	"transport/...": {
		"belfry/inbox", "belfry/transport/...",
		"github.com/99designs/gqlgen/...", "github.com/coder/websocket/...", "github.com/klauspost/compress/gzhttp",
		"github.com/vektah/gqlparser/v2/...",
	},
	"resolvers": {
		"belfry/graph", "belfry/inbox", "belfry/live", "belfry/normal", "belfry/scalar", "belfry/storage",
		"github.com/99designs/gqlgen/...", "github.com/vektah/gqlparser/v2/...",
	},
	"web":     nil,
	"bench":   {"..."},
	"cmd/...": {"..."},
}

func TestImports(t *testing.T) {
	for file, syntax := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		allowed, ok := row(path.Dir(file))
		if !ok {
			t.Errorf("%s: package %s has no row in mayImport", file, path.Dir(file))
			continue
		}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			fits := func(pattern string) bool { return matches(pattern, imported) }
			if !isStandard(imported) && !slices.ContainsFunc(allowed, fits) {
				t.Errorf("%s: package %s may not import %s", file, path.Dir(file), imported)
			}
		}
	}
}

func TestPackageNames(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers"}
	for file, syntax := range goFiles(t) {
		for _, name := range append(strings.Split(path.Dir(file), "/"), syntax.Name.Name) {
			if slices.Contains(banned, name) {
				t.Errorf("%s: %s says nothing about what is in there", file, name)
			}
		}
	}
}

func TestGraphIsGenerated(t *testing.T) {
	files := goFiles(t)
	entries, err := os.ReadDir("graph")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		syntax, ok := files["graph/"+entry.Name()]
		if !ok || !ast.IsGenerated(syntax) {
			t.Errorf("graph/%s is not generated", entry.Name())
		}
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"belfry/push", "belfry/push", true},
		{"belfry/push", "belfry/push/expo", false},
		{"belfry/push/...", "belfry/push", true},
		{"belfry/push/...", "belfry/push/expo", true},
		{"belfry/push/...", "belfry/pushed", false},
		{"...", "belfry/push", true},
	}
	for _, tt := range tests {
		if got := matches(tt.pattern, tt.path); got != tt.want {
			t.Errorf("matches(%q, %q): got %v, want %v", tt.pattern, tt.path, got, tt.want)
		}
	}
}

// row returns what the package in dir may import: by its own row, or by one for everything below a
// directory.
func row(dir string) ([]string, bool) {
	if allowed, ok := mayImport[dir]; ok {
		return allowed, true
	}
	for pattern := range maps.Keys(mayImport) {
		if matches(pattern, dir) {
			return mayImport[pattern], true
		}
	}
	return nil, false
}

func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == base || strings.HasPrefix(name, base+"/")
	}
	return name == pattern
}

// isStandard reports whether a package comes with Go: the first element of its path has no dot, and
// is not ours.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != "belfry" && !strings.Contains(first, ".")
}

// goFiles parses every Go file of the module up to its imports, the files for other systems among
// them. It reads the files itself instead of asking go list: the go command then knows what the
// test depends on, and runs it again when one of them changes.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	fset := token.NewFileSet()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDir(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		files[name], err = parser.ParseFile(fset, name, nil, parser.ImportsOnly|parser.ParseComments)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// skipDir passes over what the go command passes over, and what npm and make put into the tree.
func skipDir(name string) error {
	base := path.Base(name)
	hidden := name != "." && strings.HasPrefix(base, ".")
	if hidden || strings.HasPrefix(base, "_") || slices.Contains([]string{"testdata", "node_modules", "bin"}, base) {
		return fs.SkipDir
	}
	return nil
}

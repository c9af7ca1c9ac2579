package storage_test

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"belfry/storage/storagetest"
)

// source is the package's code, type-checked as far as that goes without its imports: enough for the
// values of constants.
type source struct {
	fset *token.FileSet
	info types.Info
	pkg  []*ast.File
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

func parseSource(t *testing.T) *source {
	t.Helper()
	s := &source{fset: token.NewFileSet()}
	s.info = types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.pkg = append(s.pkg, file)
	}
	cfg := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = cfg.Check("storage", s.fset, s.pkg, &s.info) // fails for want of the imports
	return s
}

// constants returns the text constants by name, those within functions too.
func (s *source) constants() map[string]string {
	found := map[string]string{}
	for _, object := range s.info.Defs {
		if c, ok := object.(*types.Const); ok && c.Val().Kind() == constant.String {
			found[c.Name()] = constant.StringVal(c.Val())
		}
	}
	return found
}

// statements returns the SQL by the names of its constants.
func (s *source) statements() map[string]string {
	found := s.constants()
	maps.DeleteFunc(found, func(_, text string) bool { return !strings.HasPrefix(text, "-- name: ") })
	return found
}

func TestStatementNames(t *testing.T) {
	t.Parallel()
	camelCase := regexp.MustCompile(`^([A-Z][a-z0-9]+)+$`)
	owner := map[string]string{}
	for name, sql := range parseSource(t).statements() {
		match := statementName.FindStringSubmatch(sql)
		if match == nil {
			t.Errorf("%s: got first line %q, want -- name: and a name alone", name, firstLine(sql))
			continue
		}
		got, want := match[1], strings.ToUpper(name[:1])+strings.TrimSuffix(name[1:], "SQL")
		if got != want {
			t.Errorf("%s: got name %s, want %s", name, got, want)
		}
		if !camelCase.MatchString(got) {
			t.Errorf("%s: %s is not in camel case", name, got)
		}
		if other, ok := owner[got]; ok {
			t.Errorf("%s and %s are both called %s", name, other, got)
		}
		owner[got] = name
	}
}

// A statement that is not a named constant would escape the tests here, and be nameless in logs and traces.
func TestStatementsAreNamed(t *testing.T) {
	t.Parallel()
	looksLikeSQL := regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|TRUNCATE)\s`)
	s := parseSource(t)
	for name, text := range s.constants() {
		if looksLikeSQL.MatchString(text) {
			t.Errorf("constant %s is SQL without a first line -- name:", name)
		}
	}
	for _, file := range s.pkg {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args {
				v := s.info.Types[arg].Value
				if v != nil && v.Kind() == constant.String && looksLikeSQL.MatchString(constant.StringVal(v)) {
					t.Errorf("%s: SQL without a first line -- name:", s.fset.Position(arg.Pos()))
				}
			}
			return true
		})
	}
}

func TestStatementsPrepare(t *testing.T) {
	t.Parallel()
	conn := connect(t, storagetest.URL(t))
	statements := parseSource(t).statements()
	if got, want := len(statements), 20; got < want {
		t.Errorf("found %d statements, want %d or more", got, want)
	}
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		if _, err := conn.Prepare(t.Context(), name, statements[name]); err != nil {
			t.Errorf("prepare %s: %v", name, err)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

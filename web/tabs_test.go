package web

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// Each tab is one named operation that the schema allows, with variables for it.
func TestTabs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../schema.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tab := range readTabs() {
		document, errs := gqlparser.LoadQueryWithRules(schema, tab.Query, rules.NewDefaultRules())
		if len(errs) > 0 {
			t.Fatalf("%v in %s", errs, tab.Query)
		}
		variables := map[string]any{}
		if tab.Variables != "" {
			if err := json.NewDecoder(bytes.NewBufferString(tab.Variables)).Decode(&variables); err != nil {
				t.Error(err)
			}
		}
		for _, operation := range document.Operations {
			names = append(names, operation.Name)
			if len(operation.VariableDefinitions) != len(variables) {
				t.Errorf("%s: variables %v", operation.Name, variables)
			}
		}
	}
	if diff := cmp.Diff([]string{"Inbox", "BadgeChanged", "Dispatch", "MarkRead"}, names); diff != "" {
		t.Errorf("tabs (-want +got):\n%s", diff)
	}
}

package http

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// The members are those that the standard library finds.
func FuzzMembers(f *testing.F) {
	for _, object := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":1,"b":-2.5e9 , "c" : true}`, "{\n\t\"a\" : null\r\n}", `{"a":{"b":["}",{"c":"\""}]},"d":[]}`,
		`{"\u0061":"x","b\"":"\\"}`, `{"":"","a":[[],[1,2]],"z":{}}`, `{"a":"1","a":"2"}`, `{"ä":"🔔","\ud83d\udd14":0}`,
	} {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object string) {
		var want map[string]any
		if !utf8.ValidString(object) || json.Unmarshal([]byte(object), &want) != nil || want == nil {
			return // readBody refuses it
		}
		got := map[string]any{}
		for name, value := range members([]byte(object)) {
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatalf("%s: the value of %q is %q: %v", object, name, value, err)
			}
			got[name] = v
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", object, got, want)
		}
	})
}

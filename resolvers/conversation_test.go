package resolvers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"belfry/inbox"
)

var update = flag.Bool("update", false, "write the answers into testdata")

// Each file in testdata is a conversation with the API: requests, each with the caller, the document, its
// variables where it has any, and the answer. They are read from top to bottom against one database.
//
// Ids, cursors and the server's own times differ from run to run, so a file calls them $ntf1, $act1, $itm1,
// $cursor1 and $now, numbered as they first appear. Variables may name them.
func TestConversations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := &conversation{api: newAPI(t), names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
			got := c.play(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// conversation replaces values that differ from run to run by names.
type conversation struct {
	api    *api
	names  map[string]string // by value
	values map[string]string // by name
	counts map[string]int    // by the names' prefix
}

// exchange is one request: "> caller [scopes]", the document, "variables" and JSON, "answer" and JSON.
var exchange = regexp.MustCompile(`(?ms)^> (\S+)(.*?)\n(.*?)\n(?:variables\n(.*?)\n)?answer\n(?:\{.*?^\}\n)?`)

// play sends each request and returns the text with the answers that came.
func (c *conversation) play(text string) string {
	return exchange.ReplaceAllStringFunc(text, func(match string) string {
		m := exchange.FindStringSubmatch(match)
		caller := as(m[1])
		for s := range strings.FieldsSeq(m[2]) {
			caller.Scopes = append(caller.Scopes, inbox.Scope(s))
		}
		var variables json.RawMessage
		if m[4] != "" {
			variables = json.RawMessage(varName.ReplaceAllStringFunc(m[4], func(name string) string { return c.values[name] }))
		}
		answer := c.named(c.api.post(caller, m[3], variables))
		out := "> " + m[1] + m[2] + "\n" + m[3] + "\n"
		if m[4] != "" {
			out += "variables\n" + m[4] + "\n"
		}
		return out + "answer\n" + answer + "\n"
	})
}

var (
	varName  = regexp.MustCompile(`\$(ntf|act|itm|cursor)\d+`)
	idText   = regexp.MustCompile(`"(ntf|act|itm)_[\w-]+"`)
	cursor   = regexp.MustCompile(`"MjA[\w-]{83}"`) // base64 of "20", a century of times
	dateTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`)
)

// named indents an answer and puts names into it.
func (c *conversation) named(answer []byte) string {
	var buf bytes.Buffer
	if err := json.Indent(&buf, answer, "", "  "); err != nil {
		c.api.t.Fatalf("%v: %s", err, answer)
	}
	text := idText.ReplaceAllStringFunc(buf.String(), func(v string) string { return c.name(v, v[1:4]) })
	text = cursor.ReplaceAllStringFunc(text, func(v string) string {
		if _, err := base64.RawURLEncoding.DecodeString(strings.Trim(v, `"`)); err != nil {
			return v
		}
		return c.name(v, "cursor")
	})
	return dateTime.ReplaceAllStringFunc(text, func(v string) string {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, v)
		if err == nil && time.Since(at).Abs() < time.Minute {
			return `"$now"`
		}
		return v
	})
}

func (c *conversation) name(quotedValue, prefix string) string {
	value := strings.Trim(quotedValue, `"`)
	if _, ok := c.names[value]; !ok {
		c.counts[prefix]++
		name := fmt.Sprintf("$%s%d", prefix, c.counts[prefix])
		c.names[value], c.values[name] = name, value
	}
	return `"` + c.names[value] + `"`
}

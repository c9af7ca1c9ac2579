package exposim_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"belfry/push/exposim"
)

const (
	sendPath     = "/--/api/v2/push/send"
	receiptsPath = "/--/api/v2/push/getReceipts"
)

// post sends a body and returns the status and the answer.
func post(t *testing.T, sim *exposim.Simulator, path, body string, headers ...string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// ticket is a ticket or a receipt.
type ticket struct {
	Status, ID, Message string
	Details             struct{ Error, ExpoPushToken string }
}

// tickets sends and returns what came back in data, an object as an array of one.
func tickets(t *testing.T, sim *exposim.Simulator, body string) []ticket {
	t.Helper()
	status, text := post(t, sim, sendPath, body)
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, text)
	}
	if answer.Data[0] == '{' {
		answer.Data = json.RawMessage("[" + string(answer.Data) + "]")
	}
	var list []ticket
	if err := json.Unmarshal(answer.Data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// receipts asks for receipts.
func receipts(t *testing.T, sim *exposim.Simulator, ids ...string) map[string]ticket {
	t.Helper()
	body, err := json.Marshal(map[string][]string{"ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	status, text := post(t, sim, receiptsPath, string(body))
	var answer struct{ Data map[string]ticket }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, text)
	}
	return answer.Data
}

// to is a message to a device.
func to(name string) string { return fmt.Sprintf(`{"to":"ExponentPushToken[%s]","title":"t"}`, name) }

// many is n messages.
func many(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = to(fmt.Sprintf("d%d", i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// code returns the code of an answer of errors.
func code(t *testing.T, text string) string {
	t.Helper()
	var answer struct{ Errors []struct{ Code string } }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Errors) != 1 {
		t.Fatalf("no errors: %s", text)
	}
	return answer.Errors[0].Code
}

// The shapes of a request, and how many tickets of which shape it gets.
func TestShapes(t *testing.T) {
	t.Parallel()
	a, b, c := `"ExponentPushToken[a]"`, `"ExpoPushToken[b]"`, `"F5741A13-BCDA-434B-A316-5DC0E6FFA94F"`
	tests := []struct {
		name, body string
		tokens     []string
		isObject   bool
	}{
		{"an object", `{"to":` + a + `}`, []string{a}, true},
		{"an object with one in an array", `{"to":[` + a + `]}`, []string{a}, false},
		{"an object with two", `{"to":[` + a + `,` + b + `]}`, []string{a, b}, false},
		{"an array of one", `[{"to":` + a + `}]`, []string{a}, false},
		{"the documented example", `[{"to":` + a + `,"badge":3},{"to":[` + b + `,` + c + `],"body":"Breaking news!"}]`, []string{a, b, c}, false},
		{"two and a double", `[{"to":` + b + `},{"to":` + a + `},{"to":[` + c + `,` + a + `]}]`, []string{b, a, c, a}, false},
		{"to nobody", `[{"to":[]}]`, nil, false},
		{"nothing", `[]`, nil, false},
		{"white space", " \n[ {\"to\" :\t" + a + "} ]\n", []string{a}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sim := exposim.New(exposim.Config{})
			_, text := post(t, sim, sendPath, tt.body)
			if isObject := strings.HasPrefix(text, `{"data":{`); isObject != tt.isObject {
				t.Errorf("answer %s", text)
			}
			sim = exposim.New(exposim.Config{})
			list := tickets(t, sim, tt.body)
			var got []string
			for i, d := range sim.Deliveries() {
				got = append(got, `"`+d.Token+`"`)
				if list[i].Status != "ok" || d.TicketID != list[i].ID {
					t.Errorf("ticket %d: %+v of %+v", i, list[i], d)
				}
			}
			if diff := cmp.Diff(tt.tokens, got); diff != "" || len(list) != len(tt.tokens) {
				t.Errorf("%d tickets, recipients (-want +got):\n%s", len(list), diff)
			}
		})
	}
}

func TestValidation(t *testing.T) {
	t.Parallel()
	const valid = `"to":"ExponentPushToken[a]"`
	tests := []struct {
		fields string
		ok     bool
	}{
		{valid, true},
		{valid + `,"title":"t","subtitle":"s","body":"b","data":{"x":[1]},"ttl":0,"expiration":1,"priority":"normal","sound":"default"`, true},
		{valid + `,"badge":0,"interruptionLevel":"time-sensitive","channelId":"c","icon":"i","richContent":{"image":"u"},"categoryId":"k"`, true},
		{valid + `,"collapseId":"c","tag":"t","mutableContent":true,"_contentAvailable":true`, true},
		{valid + `,"sound":{"critical":true,"name":"n","volume":1}`, true},
		{valid + `,"sound":null,"data":null,"title":null,"badge":null`, true},
		{valid + `,"aFieldOfTomorrow":1`, true},
		{``, false},
		{`"to":null`, false},
		{`"to":7`, false},
		{`"to":""`, false},
		{`"to":"exponentPushToken[a]"`, false},
		{`"to":" ExponentPushToken[a]"`, false},
		{`"to":"ExponentPushToken[a"`, false},
		{`"to":"F5741A13BCDA434BA3165DC0E6FFA94F"`, false},
		{`"to":["ExponentPushToken[a]","x"]`, false},
		{`"to":["ExponentPushToken[a]",7]`, false},
		{valid + `,"title":7`, false},
		{valid + `,"body":{}`, false},
		{valid + `,"data":"x"`, false},
		{valid + `,"data":[1]`, false},
		{valid + `,"priority":"urgent"`, false},
		{valid + `,"sound":1`, false},
		{valid + `,"badge":"1"`, false},
		{valid + `,"badge":-1`, false},
		{valid + `,"badge":1.5`, false},
		{valid + `,"ttl":"1"`, false},
		{valid + `,"interruptionLevel":"loud"`, false},
		{valid + `,"collapseId":"` + strings.Repeat("x", 65) + `"`, false},
		{valid + `,"mutableContent":"yes"`, false},
	}
	for _, tt := range tests {
		sim := exposim.New(exposim.Config{})
		status, text := post(t, sim, sendPath, `[`+to("good")+`,{`+tt.fields+`}]`)
		if tt.ok != (status == http.StatusOK) || !tt.ok && code(t, text) != "VALIDATION_ERROR" {
			t.Errorf("%s: HTTP %d: %s", tt.fields, status, text)
		}
		if n := len(sim.Deliveries()); !tt.ok && n > 0 {
			t.Errorf("%s: %d were taken all the same", tt.fields, n)
		}
	}
	for _, body := range []string{``, `null1`, `"x"`, `7`, `[7]`, `[`, `{"to":`} {
		if status, text := post(t, exposim.New(exposim.Config{}), sendPath, body); status != http.StatusBadRequest {
			t.Errorf("%q: HTTP %d: %s", body, status, text)
		}
	}
}

func TestTooBig(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{})
	for body, want := range map[string]string{
		strings.Repeat("x", 4096): "", strings.Repeat("x", 4097): "MessageTooBig",
		strings.Repeat("😀", 1024): "", strings.Repeat("😀", 1025): "MessageTooBig",
	} {
		id := tickets(t, sim, `{"to":"ExponentPushToken[a]","body":"`+body+`"}`)[0].ID
		if got := receipts(t, sim, id)[id].Details.Error; got != want {
			t.Errorf("%d bytes: %q, want %q", len(body), got, want)
		}
	}
	if n := sim.Stats().Delivered; n != 2 {
		t.Errorf("%d delivered, want 2", n)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{AccessToken: "sesame"})
	for given, want := range map[string]int{"": 403, "Bearer sesame": 200, "Bearer open": 401, "sesame": 401} {
		for path, body := range map[string]string{sendPath: to("a"), receiptsPath: `{"ids":[]}`} {
			if status, text := post(t, sim, path, body, "Authorization", given); status != want {
				t.Errorf("%s with %q: HTTP %d: %s", path, given, status, text)
			}
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(many(100)))
	_ = w.Close()
	sim := exposim.New(exposim.Config{})
	tests := []struct {
		name, body, encoding string
		want                 int
	}{
		{"packed", packed.String(), "gzip", 200},
		{"half", packed.String()[:packed.Len()/2], "gzip", 400},
		{"not packed", many(1), "gzip", 400},
		{"packed without a word", packed.String(), "", 400},
		{"another encoding", many(1), "br", 400},
		{"too long", `[` + strings.Repeat(" ", 5<<20) + `]`, "", 400},
	}
	for _, tt := range tests {
		if status, text := post(t, sim, sendPath, tt.body, "Content-Encoding", tt.encoding); status != tt.want {
			t.Errorf("%s: HTTP %d: %.100s", tt.name, status, text)
		}
	}
}

// The latest deliveries are kept, and for people to look at.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	sim := exposim.New(exposim.Config{Keep: 50, Limit: -1})
	for range 7 {
		tickets(t, sim, many(100))
	}
	tickets(t, sim, `{"to":"ExponentPushToken[last]","title":"T","body":"B","data":{"a":1},"badge":2,"tag":"x"}`)
	if n := len(sim.Deliveries()); n != 50 {
		t.Errorf("%d deliveries are kept", n)
	}
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/deliveries", nil))
	var page struct {
		Stats      exposim.Stats
		Deliveries []exposim.Delivery
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	last := page.Deliveries[49]
	var data bytes.Buffer
	if err := json.Compact(&data, last.Data); err != nil || data.String() != `{"a":1}` {
		t.Errorf("data %s, error %v", last.Data, err)
	}
	if last.Token != "ExponentPushToken[last]" || last.Title != "T" || *last.Badge != 2 || last.Tag != "x" || last.Project != "@belfry/app" {
		t.Errorf("the last is %+v", last)
	}
	if diff := cmp.Diff(exposim.Stats{SendRequests: 8, Messages: 701, Delivered: 701}, page.Stats); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// The table that the program prints is the package comment's.
func TestTable(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "exposim.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	if doc := strings.ReplaceAll(file.Doc.Text(), "\n\t", "\n  "); !strings.Contains(doc, exposim.Table) {
		t.Errorf("the package comment lacks the table:\n%s", doc)
	}
}

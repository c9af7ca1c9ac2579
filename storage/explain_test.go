package storage_test

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// plan is a node of what EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) says.
type plan struct {
	NodeType  string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	IndexCond string `json:"Index Cond"`
	Hit       int    `json:"Shared Hit Blocks"`
	Read      int    `json:"Shared Read Blocks"`
	Plans     []plan `json:"Plans"`
}

// buffers counts the pages that the node and all below it touched.
func (p plan) buffers() int { return p.Hit + p.Read }

// nodes yields the node and all below it.
func (p plan) nodes() iter.Seq[plan] {
	return func(yield func(plan) bool) { p.walk(yield) }
}

func (p plan) walk(yield func(plan) bool) bool {
	if !yield(p) {
		return false
	}
	for _, child := range p.Plans {
		if !child.walk(yield) {
			return false
		}
	}
	return true
}

// explain runs a statement as the store has sent it, by its generic plan, and takes its effects back.
func explain(t testing.TB, conn *pgx.Conn, s sent) plan {
	t.Helper()
	ctx := t.Context()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	exec(t, conn, `SET LOCAL plan_cache_mode = force_generic_plan`)
	prepared, err := conn.Prepare(ctx, s.name, s.sql)
	if err != nil {
		t.Fatalf("prepare %s: %v", s.name, err)
	}
	literals := make([]string, len(s.args))
	for i, arg := range s.args {
		literals[i] = literal(t, conn, prepared.ParamOIDs[i], arg)
	}
	answer := value[[]byte](t, conn,
		`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "`+s.name+`" (`+strings.Join(literals, ", ")+`)`)
	var plans []struct{ Plan plan }
	if err := json.Unmarshal(answer, &plans); err != nil {
		t.Fatalf("plan of %s: %v", s.name, err)
	}
	return plans[0].Plan
}

// literal writes an argument for EXECUTE, which takes no parameters within EXPLAIN.
func literal(t testing.TB, conn *pgx.Conn, oid uint32, arg any) string {
	t.Helper()
	text, err := conn.TypeMap().Encode(oid, pgx.TextFormatCode, arg, nil)
	if err != nil {
		t.Fatalf("argument %v: %v", arg, err)
	}
	if text == nil {
		return "NULL"
	}
	return `E'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(string(text)) + `'`
}

package transport_test

import (
	"fmt"
	"strings"
)

// hostile is a document made to cost the server more than the client.
type hostile struct {
	name, document string
	// code is of the answer's first error; empty where the document is harmless in the end.
	code string
}

// repeat joins what part says for 0 to n-1.
func repeat(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(part(i))
	}
	return b.String()
}

// numbered joins n copies of a format with the copy's number.
func numbered(n int, format string) string {
	return repeat(n, func(i int) string { return fmt.Sprintf(format, i) })
}

// chain makes n fragments on User, each of which spreads the next twice; the last selects end.
func chain(n int, end string) string {
	return `{ viewer { ...F0 } }` + repeat(n, func(i int) string {
		return fmt.Sprintf(" fragment F%d on User { ...F%d ...F%[2]d }", i, i+1)
	}) + fmt.Sprintf(" fragment F%d on User { %s }", n, end)
}

// line makes n fragments, each of which spreads the next; the last selects end.
func line(n int, typ, end string) string {
	return repeat(n, func(i int) string {
		return fmt.Sprintf(" fragment F%d on %s { ...F%d }", i, typ, i+1)
	}) + fmt.Sprintf(" fragment F%d on %s { %s }", n, typ, end)
}

func inline(n int) string {
	return `{ viewer {` + strings.Repeat(` ... on User { settings {`+strings.Repeat(` ... on Settings { id }`, n)+` } }`, n) + ` } }`
}

// nested puts n levels of open around middle.
func nested(n int, open, middle, end string) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
}

const (
	parseFailed      = "GRAPHQL_PARSE_FAILED"
	validationFailed = "GRAPHQL_VALIDATION_FAILED"
	tooComplex       = "TOO_COMPLEX"
	badUserInput     = "BAD_USER_INPUT" // the body's own limit, which stands before all others
)

// hostileDocuments are known attacks, and for each limit something just inside that is as dear as can be.
func hostileDocuments() []hostile {
	times := strings.Repeat
	return []hostile{
		{"fragment chain of 20", chain(20, `id`), ""},
		{"fragment chain of 22", chain(22, `id`), ""},
		{"fragment chain of 24", chain(24, `id`), ""},
		{"fragment chain of 40", chain(40, `id`), ""},
		{"fragment chain of 24 to an object", chain(24, `account { id }`), tooComplex},
		{"fragment chain of 40 to an alias", chain(40, `a: id`), tooComplex},
		{"fragment chain of 150", chain(150, `id`), tooComplex},
		{"inline fragments 17 x 17", inline(17), tooComplex},
		{"inline fragments 20 x 20", inline(20), parseFailed},
		{"inline fragments 40 x 40", inline(40), parseFailed},
		{"inline fragments 80 x 80", inline(80), badUserInput},
		{"same field 1,900 times", `{ viewer {` + times(` id`, 1900) + ` } }`, tooComplex},
		{"same field 165 times", `{ viewer {` + times(` id`, 165) + ` } }`, ""},
		{"same field in nested inline fragments", `{ viewer { ` + nested(300, `... { `, times(`id `, 140), `} `) + `} }`, tooComplex},
		{"600 fields that conflict", `{ viewer {` + times(` a: id a: userId`, 300) + ` } }`, tooComplex},
		{"98 fields that conflict", `{ node(id: 1) {` + times(` ... on User { id: unreadCount } ... on Account { id }`, 49) + ` } }`, validationFailed},
		{"98 fields with other arguments", `{ viewer {` + numbered(98, ` notifications(first: %d) { nodes { id } }`) + ` } }`, validationFailed},
		{"600 aliases", `{ viewer {` + numbered(600, ` a%d: id`) + ` } }`, tooComplex},
		{"1,000 aliases", `{ viewer {` + numbered(1000, ` a%d: id`) + ` } }`, parseFailed},
		{"aliases in a fragment spread often", `{ viewer {` + times(` ...F`, 10) + ` } } fragment F on User {` + numbered(10, ` a%d: id`) + ` }`, tooComplex},
		{"21 root fields", `{` + times(` viewer { id }`, 21) + ` }`, tooComplex},
		{"root fields in fragments", `{ ...F ...F ...F }  fragment F on Query {` + numbered(7, ` a%d: viewer { id }`) + ` }`, tooComplex},
		{"10,000 directives", `{ viewer` + times(` @a`, 10_000) + ` { id } }`, parseFailed},
		{"900 directives", `{ viewer` + times(` @a`, 900) + ` { id } }`, tooComplex},
		{"100 directives", `{ viewer` + times(` @a`, 100) + ` { id } }`, validationFailed},
		{"directives in a fragment spread often", `{ viewer {` + times(` ...F`, 11) + ` } } fragment F on User { id` + times(` @skip(if: true)`, 10) + ` }`, tooComplex},
		{"100,000 tokens", `{` + times(` a`, 100_000-2) + `}`, badUserInput},
		{"a body of 5 MB", `{ viewer { id } }` + times(" ", 5<<20), badUserInput},
		{"60,000 tokens", `{` + times(` a`, 60_000-2) + `}`, parseFailed},
		{"40,000 comments", `{ viewer { id } }` + times("#\n", 40_000), parseFailed},
		{"a comment of 120,000 bytes", `{ viewer { id } } #` + times("x", 120_000), ""},
		{"120,000 commas", `{ viewer { id } }` + times(",", 120_000), ""},
		{"list of 900 levels", `{ nodes(ids: ` + nested(900, `[`, ``, `]`) + `) { id } }`, validationFailed},
		{"list of 60,000 levels", `{ nodes(ids: ` + nested(60_000, `[`, ``, `]`) + `) { id } }`, parseFailed},
		{"type of 900 levels", `query ($a: ` + nested(900, `[`, `Int`, `]`) + `) { viewer { id } }`, validationFailed},
		{"fields of 600 levels", nested(600, `{ a `, ``, `} `), tooComplex},
		{"fields of 13 levels", nested(13, `{ a `, ``, `} `), tooComplex},
		{"fields of 12 levels", nested(12, `{ a `, ``, `} `), validationFailed},
		{"levels hidden in fragments", `{ viewer { ...F0 } }` + repeat(12, func(i int) string {
			return fmt.Sprintf(" fragment F%d on User { notifications { nodes { ...F%d } } }", i, i+1)
		}) + ` fragment F12 on User { id }`, tooComplex},
		{"inline fragments of 600 levels", `{ ` + nested(600, `... { `, `viewer { id }`, `} `) + `}`, ""},
		{"input objects of 400 levels", `mutation { dispatch(input: ` + nested(400, `{data: `, `1`, `}`) + `) { createdCount } }`, validationFailed},
		{"input objects of 900 levels", `mutation { dispatch(input: ` + nested(900, `{data: `, `1`, `}`) + `) { createdCount } }`, parseFailed},
		{"introspection of 600 levels", `{ __type(name: "User") { ` + nested(600, `ofType { `, `name`, `} `) + `} }`, tooComplex},
		{"introspection of lists in lists", `{ __schema { types { ` + nested(4, `fields { type { `, `name `, `} } `) + `} } }`, validationFailed},
		{"introspection 20 times", `{` + numbered(20, ` a%d: __schema { types { fields { args { name } type { fields { name } } } } }`) + ` }`, tooComplex},
		{"a name of 100,000 characters", `{ viewer { ` + times("x", 100_000) + ` } }`, tooComplex},
		{"a name of 14,000 characters", `{ viewer { ` + times("x", 14_000) + ` } }`, validationFailed},
		{"an argument of 14,000 characters", `{ viewer { notifications(` + times("x", 14_000) + `: 1) { nodes { id } } } }`, validationFailed},
		{"a type of 100,000 characters", `{ viewer { ... on ` + times("x", 100_000) + ` { id } } }`, tooComplex},
		{"1,000 wrong fields", `{ node(id: 1) {` + times(` displayName theme`, 500) + ` } }`, tooComplex},
		{"100 wrong fields", `{ node(id: 1) {` + times(` displayName theme`, 50) + ` } }`, validationFailed},
		{"450 wrong arguments", `{ viewer { notifications(` + numbered(450, ` firts%d: 1`) + `) { nodes { id } } } }`, validationFailed},
		{"500 wrong input fields", `mutation { dispatch(input: {` + numbered(500, ` titl%d: 1`) + `}) { createdCount } }`, validationFailed},
		{"wrong values in fragments", `{ ...F0 }` + line(5, `Query`, `nodes(ids: [`+times(`true `, 700)+`]) { id }`), validationFailed},
		{"wrong enums in fragments", `{ viewer { ...F0 } }` + line(10, `User`, `notifications(filter: {`+times(`status: UNREED `, 70)+`}) { nodes { id } }`), validationFailed},
		{"a cyclic fragment", `{ viewer { ...F } } fragment F on User { ...F }`, validationFailed},
		{"a cyclic fragment below fields", `{ viewer { ...F } } fragment F on User { notifications { nodes { ...G } } } fragment G on Notification { actor { ...F } }`, validationFailed},
		{"40 fragments in a cycle", `{ viewer { ...F0 } }` + repeat(40, func(i int) string {
			return fmt.Sprintf(" fragment F%d on User { settings { ...F%d } ...F%[2]d ...F%d }", i, (i+1)%40, i/2)
		}), tooComplex},
		{"all fragments in all", `{ viewer { ...F0 } }` + repeat(15, func(i int) string {
			return fmt.Sprintf(" fragment F%d on User { %s }", i, numbered(15, ` ...F%d`))
		}), tooComplex},
		{"thousands of tiny fragments", `{ viewer { id } }` + numbered(4000, ` fragment F%d on User { id }`), parseFailed},
		{"240 unused fragments", `{ viewer { id } }` + numbered(240, ` fragment F%d on User { id }`), tooComplex},
		{"49 unused fragments", `{ viewer { id } }` + numbered(49, ` fragment F%d on User { id }`), validationFailed},
		{"49 fragments in a line", `{ viewer { ...F0 } }` + line(48, `User`, times(`id `, 20)), ""},
		{"49 fragments side by side", `{ viewer {` + numbered(49, ` ...F%d`) + ` } }` + numbered(49, ` fragment F%d on User { settings { id } account { id } }`), ""},
		{"900 spreads of nothing", `{ viewer {` + numbered(900, ` ...X%d`) + ` } }`, tooComplex},
		{"130 spreads of nothing", `{ viewer {` + numbered(130, ` ...X%d`) + ` } }`, validationFailed},
		{"240 operations", numbered(240, ` query Q%d { viewer { id } }`), tooComplex},
		{"50 operations", numbered(50, ` query Q%d { viewer { id } }`), validationFailed},
		{"49 operations on one large fragment", numbered(49, ` query Q%d { viewer { ...F } }`) + ` fragment F on User { id` + times(` userId`, 18) + ` }`, validationFailed},
		{"490 variables", `query (` + numbered(490, ` $v%d: Int`) + `) { viewer { id } }`, validationFailed},
		{"thousands of variables", `query (` + numbered(4000, ` $v%d: Int`) + `) { viewer { id } }`, parseFailed},
		{"200 variables used", `query (` + numbered(200, ` $v%d: ID = 1`) + `) { nodes(ids: [` + numbered(200, ` $v%d`) + `]) { id } }`, ""},
		{"20 operations without their variables", numbered(20, ` query Q%d { ...F0 }`) + line(0, `Query`, `nodes(ids: [`+numbered(230, `$x%d `)+`]) { id }`), validationFailed},
		{"a block string of newlines", `{ node(id: """` + times("\n", 60_000) + `""") { id } }`, ""},
		{"a block string of quotes", `{ node(id: """` + times(`"" `, 25_000) + `""") { id } }`, ""},
		{"a block string without an end", `{ node(id: """` + times(`""x`, 25_000), parseFailed},
		{"a string of escapes", `{ node(id: "` + times(`\u0041`, 18_000) + `") { id } }`, ""},
		{"a number of 120,000 digits", `{ viewer { notifications(first: ` + times("9", 120_000) + `) { nodes { id } } } }`, validationFailed},
		{"an exponent of 120,000 digits", `{ viewer { notifications(first: 1e` + times("9", 120_000) + `) { nodes { id } } } }`, validationFailed},
		{"control characters", "{ \x00 viewer { id } }", parseFailed},
		{"letters outside ASCII", `{ ` + times("ü", 50_000) + ` }`, parseFailed},
		{"byte order marks", times("\ufeff", 40_000) + `{ viewer { id } }`, ""},
		{"half a character", "{ viewer { id } } # \xc3", ""},
	}
}

package http

import (
	"net/http"
	"slices"
)

// eventStream is what transport/sse answers with. A request for it comes through here as well.
const eventStream = "text/event-stream"

// preflightHeaders are headers that a page can't add to a request to another origin unless that origin
// allows it beforehand, in the answer to a preflight. Apollo's clients send the second and the third.
var preflightHeaders = []string{"GraphQL-Require-Preflight", "X-Apollo-Operation-Name", "Apollo-Require-Preflight"}

// isForged reports whether a GET may have been caused by a page of another origin.
//
// What is at stake is small: a GET only reads, its answer can't be read across origins, and the token
// travels in a header that a browser adds to nothing by itself. But where a proxy makes that header of a
// cookie, every <img> on the web could have the server work in the name of whoever looks at it, and tell
// by the time it takes what is in there. A POST needs no such check: a page can't send application/json
// to another origin without a preflight.
//
// A header that only a preflight could have let through settles it. Else the browser's word does,
// Sec-Fetch-Site, or, from old ones and those on plain HTTP, Origin. What has neither comes from no
// browser, or from an element of a page, such as an image or a form: those ask for what they show, so it
// must ask for what we have. A <script> asks for anything, like many a client; it is let through, since
// JSON is no script and X-Content-Type-Options stops its being taken for one. The Authorization header
// proves nothing, because of the proxy.
func isForged(r *http.Request) bool {
	hasHeader := func(name string) bool { return len(r.Header.Values(name)) > 0 }
	if slices.ContainsFunc(preflightHeaders, hasHeader) {
		return false
	}
	// The check lets reading methods pass, which are our concern: so it is asked about a writing one.
	writing := &http.Request{Method: http.MethodPost, Header: r.Header, Host: r.Host}
	if new(http.CrossOriginProtection).Check(writing) != nil {
		return true
	}
	return !hasHeader("Sec-Fetch-Site") && !asksForAnswer(ParseAccept(r.Header))
}

// asksForAnswer reports whether a client names something that we have, or nothing else.
func asksForAnswer(a Accept) bool {
	names := func(mediaType string) bool {
		quality, isNamed := a.Quality(mediaType)
		return isNamed && quality > 0
	}
	isOther := func(r mediaRange) bool { return r.name != "*/*" }
	return names(JSON) || names(ResponseJSON) || names(eventStream) || !slices.ContainsFunc(a, isOther)
}

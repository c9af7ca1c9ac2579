// Package http answers GraphQL requests with JSON, as GraphQL over HTTP has it
// (https://graphql.github.io/graphql-over-http/draft/): by POST and, queries alone, by GET.
//
// Statuses are those that graphql-http's audits ask for. With application/json a request that could be
// read is answered with 200, whatever came of it; with application/graphql-response+json with 400 where
// its document was not executed. What can't be read is 400, 405, 406 or 415 with either. The draft of 2026
// would rather have 422 and 294 for some of these; the clients of today do not.
package http

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
)

// Transport is a graphql.Transport for requests with one answer. It takes every request, so it comes last:
// one that no other transport wants is refused by it.
type Transport struct{}

var _ graphql.Transport = Transport{}

// Supports implements graphql.Transport.
func (Transport) Supports(*http.Request) bool { return true }

// Do implements graphql.Transport.
func (Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if r.Method == http.MethodOptions {
		// Without Access-Control headers, on purpose: who serves pages from elsewhere says so in the proxy.
		w.Header().Set("Allow", allMethods)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	op, err := Read(r, exec)
	if err != nil {
		Reject(w, r, exec, err)
		return
	}
	Execute(w, r, exec, op)
}

// Execute executes a query or a mutation and answers with its result. A subscription is refused: its
// result has no end.
func Execute(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, op *graphql.OperationContext) {
	mediaType := ParseAccept(r.Header).JSON()
	if mediaType == "" {
		Reject(w, r, exec, notAcceptable())
		return
	}
	if op.Operation.Operation == ast.Subscription {
		Reject(w, r, exec, gqlerror.List{gqlerror.Wrap(inbox.Errorf(inbox.BadUserInput,
			"a subscription needs a WebSocket, or a request that accepts %s", eventStream))})
		return
	}
	responses, ctx := exec.DispatchOperation(r.Context(), op)
	response := responses(ctx)
	if response == nil {
		return // the client has gone
	}
	status := http.StatusOK
	if len(response.Data) == 0 {
		status = rejected(mediaType)
	}
	write(w, r, status, mediaType, response)
}

// Reject answers a request that Read has an error about.
func Reject(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, err error) {
	mediaType := ParseAccept(r.Header).JSON()
	refusal, isRefusal := errors.AsType[*Refusal](err)
	if mediaType == "" {
		mediaType = JSON
		if !isRefusal {
			refusal, isRefusal = notAcceptable(), true
		}
	}
	if !isRefusal {
		errs, ok := errors.AsType[gqlerror.List](err)
		if !ok {
			errs = gqlerror.List{gqlerror.Wrap(err)}
		}
		write(w, r, rejected(mediaType), mediaType, exec.DispatchError(r.Context(), errs))
		return
	}
	if refusal.Allow != "" {
		w.Header().Set("Allow", refusal.Allow)
	}
	write(w, r, refusal.Status, mediaType, exec.DispatchError(r.Context(), gqlerror.List{gqlerror.Wrap(refusal)}))
}

func notAcceptable() *Refusal {
	return refuse(http.StatusNotAcceptable, "what there is: "+JSON+" and "+ResponseJSON)
}

// rejected is the status of a request that could be read but was not executed.
func rejected(mediaType string) int {
	if mediaType == ResponseJSON {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// Values of headers, which nobody changes.
var (
	contentTypes = map[string][]string{JSON: {JSON + "; charset=utf-8"}, ResponseJSON: {ResponseJSON + "; charset=utf-8"}}
	noStore      = []string{"no-store"}
	noSniff      = []string{"nosniff"}
)

// write sends a response, whole and by one call, and compressed where the client takes that.
func write(w http.ResponseWriter, r *http.Request, status int, mediaType string, response *graphql.Response) {
	body := AppendResponse(make([]byte, 0, len(response.Data)+64), response)
	if len(body) < compressFrom || r.Header["Accept-Encoding"] == nil {
		w.Header().Add("Vary", "Accept-Encoding")
		writeBody(w, status, mediaType, body)
		return
	}
	compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeBody(w, status, mediaType, body)
	})).ServeHTTP(w, r)
}

func writeBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentTypes[mediaType]
	header.Set("Content-Length", strconv.Itoa(len(body)))
	// An answer is one user's, and old the moment after.
	header["Cache-Control"], header["X-Content-Type-Options"] = noStore, noSniff
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // G705 takes JSON for HTML. An error means that the client has gone
}

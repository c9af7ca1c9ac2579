package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"belfry/inbox"
)

// The largest bodies, in bytes. A dispatch to 10,000 recipients does not fit into what is plenty for
// everyone else: see doc/decisions/0003-body-limit.md.
const (
	maxBody         = 128 << 10
	maxDispatchBody = 2 << 20
)

// limitBody answers 413 to a body that is too large, before any of it is parsed.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := int64(maxBody)
		if caller, err := inbox.CallerFrom(r.Context()); err == nil && caller.Has(inbox.ScopeDispatch) {
			limit = maxDispatchBody
		}
		// What is longer by its own word is refused unread; what does not say is read up to the limit.
		if r.ContentLength > limit {
			tooLarge(w, limit)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			tooLarge(w, limit)
			return
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, inbox.BadUserInput, "the request body could not be read")
			return
		}
		r.Body = newReadBody(body)
		next.ServeHTTP(w, r)
	})
}

// readBody is a request's body that was read already.
type readBody struct {
	bytes.Reader
	text []byte
}

func newReadBody(text []byte) *readBody {
	b := &readBody{text: text}
	b.Reset(text)
	return b
}

// Bytes returns the whole body, which is not to be changed, for those who would read it once more.
func (b *readBody) Bytes() []byte { return b.text }

// Close implements io.Closer.
func (*readBody) Close() error { return nil }

func tooLarge(w http.ResponseWriter, limit int64) {
	writeError(w, http.StatusRequestEntityTooLarge, inbox.BadUserInput,
		fmt.Sprintf("the request body has more than %d bytes", limit))
}

// writeError answers with a GraphQL error and no data. The message must need no escaping.
func writeError(w http.ResponseWriter, status int, code inbox.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"errors":[{"message":%q,"extensions":{"code":%q}}]}`, message, code)
}

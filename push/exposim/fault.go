package exposim

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Fault is what a whole request meets. The package comment describes each.
type Fault string

// The faults.
const (
	None            Fault = ""
	BadRequest      Fault = "400"
	Unauthorized    Fault = "401"
	Forbidden       Fault = "403"
	TooLarge        Fault = "413"
	TooManyRequests Fault = "429"
	Reset           Fault = "reset"
	ServerError     Fault = "500"
	BadGateway      Fault = "502"
	Unavailable     Fault = "503"
	GatewayTimeout  Fault = "504"
	Cut             Fault = "cut"
	Slow            Fault = "slow"
	HTML            Fault = "html"
	Errors          Fault = "errors"
	Garbage         Fault = "garbage"
	Empty           Fault = "empty"
	Short           Fault = "short"
	Long            Fault = "long"
	Array           Fault = "array"
)

// notTaking has the faults of requests that are not taken.
var notTaking = []Fault{BadRequest, Unauthorized, Forbidden, TooLarge, TooManyRequests, Reset}

// taking has the faults of requests that are taken all the same.
var taking = []Fault{
	ServerError, BadGateway, Unavailable, GatewayTimeout, Cut, Slow, HTML, Errors, Garbage, Empty, Short, Long, Array,
}

var allFaults = slices.Concat(notTaking, taking)

func (f Fault) isTaking() bool { return f == None || slices.Contains(taking, f) }

// The codes of whole requests.
const (
	codeValidation       = "VALIDATION_ERROR"
	codeUnauthorized     = "UNAUTHORIZED"
	codeTooManyRequests  = "TOO_MANY_REQUESTS"
	codeTooManyMessages  = "PUSH_TOO_MANY_NOTIFICATIONS"
	codeTooManyReceipts  = "PUSH_TOO_MANY_RECEIPTS"
	codeTooManyProjects  = "PUSH_TOO_MANY_EXPERIENCE_IDS"
	codeInternal         = "INTERNAL_SERVER_ERROR"
	messageTooManyAtOnce = "Exceeded 600 notifications per second, please try again."
)

// respond answers a request as the fault has it; data is the value of data where the request is answered
// after all.
func (f Fault) respond(w http.ResponseWriter, r *http.Request, data []byte) {
	switch f {
	case BadRequest:
		respondError(w, http.StatusBadRequest, codeValidation, `"value" does not match any of the allowed types.`, nil)
	case Unauthorized:
		respondJSON(w, http.StatusUnauthorized, `{"error":"invalid_token","error_description":"The bearer token is invalid"}`)
	case Forbidden:
		respondError(w, http.StatusForbidden, codeUnauthorized, "Insufficient permissions.", nil)
	case TooLarge:
		respondHTML(w, http.StatusRequestEntityTooLarge)
	case TooManyRequests:
		w.Header().Set("Retry-After", "1")
		respondError(w, http.StatusTooManyRequests, codeTooManyRequests, messageTooManyAtOnce, nil)
	case Reset, Cut:
		panic(http.ErrAbortHandler)
	case ServerError:
		respondError(w, http.StatusInternalServerError, codeInternal, "An unknown error occurred.", nil)
	case BadGateway:
		respondHTML(w, http.StatusBadGateway)
	case Unavailable:
		respondHTML(w, http.StatusServiceUnavailable)
	case GatewayTimeout:
		respondHTML(w, http.StatusGatewayTimeout)
	case Slow:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case HTML:
		respondHTML(w, http.StatusOK)
	case Errors:
		respondError(w, http.StatusOK, codeInternal, "An unknown error occurred.", nil)
	case Garbage:
		respondJSON(w, http.StatusOK, `{"data":[{"status":"ok","id":"0`)
	case Empty:
		respondJSON(w, http.StatusOK, "")
	default:
		respondData(w, data)
	}
}

func respondHTML(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	text := http.StatusText(status)
	_, _ = io.WriteString(w, "<html>\r\n<head><title>"+text+"</title></head>\r\n<body>\r\n<center><h1>"+text+"</h1></center>\r\n</body>\r\n</html>\r\n")
}

func respondJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func respondData(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, `{"data":`)
	_, _ = w.Write(data)
	_, _ = io.WriteString(w, "}")
}

// respondError answers with errors as Expo writes them; details may be nil.
func respondError(w http.ResponseWriter, status int, code, message string, details map[string][]string) {
	type fault struct {
		Code        string              `json:"code"`
		Message     string              `json:"message"`
		IsTransient bool                `json:"isTransient"`
		Details     map[string][]string `json:"details,omitempty"`
	}
	body, _ := json.Marshal(map[string][]fault{"errors": {{code, message, status >= http.StatusInternalServerError, details}}})
	respondJSON(w, status, string(body))
}

// words returns what the name in a token asks for: the project that it begins with and the word that it
// ends with.
func words(token string) (project, word string) {
	_, name, _ := strings.Cut(token, "[")
	name = strings.TrimSuffix(name, "]")
	project = "app"
	if prefix, _, ok := strings.Cut(name, ":"); ok {
		project = prefix
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		word = name[i+1:]
	}
	return "@belfry/" + project, word
}

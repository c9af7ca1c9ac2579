package http

import (
	"net/http"

	"belfry/inbox"
)

// Refusal is why an HTTP request is not taken for a GraphQL request, or not executed as it came.
type Refusal struct {
	// Status is the answer's status, 4xx.
	Status int
	// Allow lists the methods that would do; only with 405.
	Allow string
	// Err says what is wrong, and holds nothing of the request.
	Err *inbox.Error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(status int, message string) *Refusal {
	return &Refusal{Status: status, Err: inbox.Errorf(inbox.BadUserInput, "%s", message)}
}

func refuseMethod(allow, message string) *Refusal {
	r := refuse(http.StatusMethodNotAllowed, message)
	r.Allow = allow
	return r
}

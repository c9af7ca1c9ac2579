package inbox

import (
	"errors"
	"fmt"
)

// Code classifies a failure. The values are what clients see in extensions.code.
type Code string

// The codes of failures that end a field or a request. GRAPHQL_PARSE_FAILED and
// GRAPHQL_VALIDATION_FAILED come from the GraphQL engine and have no constant here.
const (
	// BadUserInput is an argument that can never work as sent.
	BadUserInput Code = "BAD_USER_INPUT"
	// Unauthenticated is a caller without a valid token.
	Unauthenticated Code = "UNAUTHENTICATED"
	// Forbidden is a caller whose token lacks a scope.
	Forbidden Code = "FORBIDDEN"
	// RateLimited is a caller who asks for more than its share at once.
	RateLimited Code = "RATE_LIMITED"
	// TooComplex is a document that costs more than the server allows.
	TooComplex Code = "TOO_COMPLEX"
	// Unavailable is a dependency that does not answer: the same request may work later.
	Unavailable Code = "UNAVAILABLE"
	// Internal is everything that nobody foresaw. Its message never reaches a client.
	Internal Code = "INTERNAL"
)

// Error is a failure with a code and a message that is fit for the caller to read.
type Error struct {
	Code    Code
	Message string
	// Argument names the offending argument of a field; only with BadUserInput.
	Argument string
	// Err is the cause, for the log alone; nil where there is none.
	Err error
}

// Error returns the message, followed by the cause where there is one: a text for the log.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose message the caller may read. A %w among the verbs would show the
// cause to the caller, so wrap with Wrap instead.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error that shows message to the caller and keeps err for the log.
func Wrap(code Code, err error, message string) *Error {
	return &Error{Code: code, Message: message, Err: err}
}

// BadArgument makes a BadUserInput error that names the argument at fault.
func BadArgument(argument, format string, args ...any) *Error {
	return &Error{Code: BadUserInput, Message: fmt.Sprintf(format, args...), Argument: argument}
}

// ErrorCode returns the code of the outermost Error in err's chain, Internal where there is none,
// and "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

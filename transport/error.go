package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
)

// presenter turns errors into what clients see. It lets pass what was written for them, and hides the
// rest behind an id that the log has too.
type presenter struct {
	logger *slog.Logger
}

func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	shown := &gqlerror.Error{Path: graphql.GetPath(ctx)}
	if e, ok := errors.AsType[*gqlerror.Error](err); ok {
		shown.Path, shown.Locations = e.Path, e.Locations
	}
	if code := engineCode(err); code != "" {
		shown.Message, shown.Extensions = engineMessage(err), map[string]any{"code": code}
		return shown
	}
	domain, ok := errors.AsType[*inbox.Error](err)
	switch {
	case ok && domain.Code != inbox.Internal:
		shown.Message = domain.Message
	case errors.Is(err, context.DeadlineExceeded):
		domain = inbox.Wrap(inbox.Unavailable, err, "the operation took too long")
		shown.Message = domain.Message
	case isCoercion(err):
		domain = inbox.Errorf(inbox.BadUserInput, "%s", engineMessage(err))
		shown.Message = domain.Message
	default:
		return p.hide(ctx, err, shown)
	}
	shown.Extensions = map[string]any{"code": domain.Code}
	if domain.Code == inbox.BadUserInput {
		if argument := argumentOf(domain, shown.Path); argument != "" {
			shown.Extensions["argument"] = argument
		}
	}
	if domain.Err != nil && domain.Code == inbox.Unavailable {
		p.logger.WarnContext(ctx, "dependency unavailable", "path", shown.Path.String(), "error", domain.Err.Error())
	}
	return shown
}

// hide logs an error that nobody foresaw and shows its id alone.
func (p presenter) hide(ctx context.Context, err error, shown *gqlerror.Error) *gqlerror.Error {
	requestID := rand.Text()
	attrs := []any{"request_id", requestID, "path", shown.Path.String(), "error", err.Error()}
	if panicked, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, "stack", string(panicked.stack))
	}
	// A client that has gone is told nothing, and is no defect.
	if !errors.Is(err, context.Canceled) {
		p.logger.ErrorContext(ctx, "internal error", attrs...)
	}
	shown.Message = "internal error"
	shown.Extensions = map[string]any{"code": inbox.Internal, "requestId": requestID}
	return shown
}

// recovered makes an error of a resolver's panic, for hide to log.
func (p presenter) recovered(_ context.Context, cause any) error {
	return &panicError{cause, debug.Stack()}
}

type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// engineCode returns the code that the GraphQL engine gave an error of its own, "" where it gave none.
func engineCode(err error) string {
	e, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		return ""
	}
	code, _ := e.Extensions["code"].(string)
	return code
}

// engineMessage returns the message of an error that the GraphQL engine made.
func engineMessage(err error) string {
	if e, ok := errors.AsType[*gqlerror.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// isCoercion reports whether a value did not fit its built-in scalar, such as an Int of more than 32 bits.
func isCoercion(err error) bool {
	if _, ok := errors.AsType[*graphql.NumberOverflowError](err); ok {
		return true
	}
	_, ok := errors.AsType[*strconv.NumError](err)
	return ok
}

// argumentOf returns the argument at fault: the one that the rule names, or for a scalar the first one
// below the field in the error's path.
func argumentOf(e *inbox.Error, path ast.Path) string {
	if e.Argument != "" {
		return e.Argument
	}
	for i := len(path) - 1; i >= 0; i-- {
		if name, ok := path[i].(ast.PathName); ok {
			return string(name)
		}
	}
	return ""
}

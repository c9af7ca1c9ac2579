package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"belfry/inbox"
)

func TestErrorCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	tests := []struct {
		name string
		err  error
		want inbox.Code
	}{
		{"none", nil, ""},
		{"foreign", cause, inbox.Internal},
		{"own", inbox.Errorf(inbox.Forbidden, "no"), inbox.Forbidden},
		{"wrapped", fmt.Errorf("feed page: %w", inbox.BadArgument("first", "no")), inbox.BadUserInput},
		{"outermost", inbox.Wrap(inbox.Unavailable, inbox.Errorf(inbox.Forbidden, "no"), "later"), inbox.Unavailable},
	}
	for _, tt := range tests {
		if got := inbox.ErrorCode(tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	wrapped := inbox.Wrap(inbox.Unavailable, cause, "the database does not answer")
	if !errors.Is(wrapped, cause) || wrapped.Message != "the database does not answer" ||
		wrapped.Error() != "the database does not answer: connection refused" {
		t.Errorf("got %q and %q", wrapped.Message, wrapped.Error())
	}
}

func TestCallerFrom(t *testing.T) {
	t.Parallel()
	if _, err := inbox.CallerFrom(t.Context()); inbox.ErrorCode(err) != inbox.Unauthenticated {
		t.Errorf("no caller: got %v", err)
	}
	refused := inbox.Errorf(inbox.Unauthenticated, "the token has expired")
	for _, ctx := range []context.Context{inbox.WithCaller(t.Context(), inbox.Caller{}, refused)} {
		if _, err := inbox.CallerFrom(ctx); !errors.Is(err, refused) {
			t.Errorf("refused: got %v, want %v", err, refused)
		}
	}
	reader := inbox.Caller{UserID: "ada", Scopes: []inbox.Scope{inbox.ScopeRead}}
	got, err := inbox.CallerFrom(inbox.WithCaller(t.Context(), reader, nil))
	if err != nil || got.UserID != "ada" || !got.MayRead("bela") || got.Has(inbox.ScopeAdmin) {
		t.Errorf("got %+v, %v", got, err)
	}
	if (inbox.Caller{UserID: "ada"}).MayRead("bela") {
		t.Error("a caller without a scope may read another's inbox")
	}
}

package transport

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"belfry/inbox"
)

// maxCost is the most that one operation may cost. 100 users with account, settings, counts and 20
// notifications each, of which the actors are named, cost 8,500; a dispatch to 10,000 recipients 10,012.
const maxCost = 15_000

// Cost is what a client finds in the response's extensions.cost when its request has {"cost": true} in
// its own extensions.
type Cost struct {
	// Requested is what the operation costs, whether or not it was let through.
	Requested int `json:"requested"`
	// Limit is the most that an operation may cost.
	Limit int `json:"limit"`
}

// costExtension names the cost in a request's and a response's extensions.
const costExtension = "cost"

// costLimit refuses operations that cost too much with the variables at hand, and what may not be
// selected at all. It relies on documentLimit for bounds on the document itself.
type costLimit struct {
	scale scale
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationContextMutator
	graphql.ResponseInterceptor
} = costLimit{}

// ExtensionName names the extension to the engine.
func (costLimit) ExtensionName() string { return "CostLimit" }

// Validate has nothing to check.
func (costLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext refuses an operation, or notes its cost where the client asks for it.
func (l costLimit) MutateOperationContext(_ context.Context, oc *graphql.OperationContext) *gqlerror.Error {
	w := newCostWalker(l.scale, oc.Variables)
	cost := w.operation(oc.Operation)
	if asked, _ := oc.Extensions[costExtension].(bool); asked {
		oc.Stats.SetExtension(costExtension, Cost{cost, maxCost})
	}
	switch {
	case w.introspection != nil && oc.DisableIntrospection:
		return validationError(w.introspection.Position, "introspection is switched off on this server")
	case w.connection != nil && oc.Operation.Operation == ast.Subscription:
		return validationError(w.connection.Position,
			"%s can't be selected in a subscription: it would be read anew for every event; query it", w.connection.Name)
	case cost > maxCost:
		return refusal(inbox.Errorf(inbox.TooComplex, "the operation costs %d, more than %d", cost, maxCost))
	}
	return nil
}

// InterceptResponse tells the cost to a client that asked.
func (costLimit) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if graphql.HasOperationContext(ctx) {
		if cost, ok := graphql.GetOperationContext(ctx).Stats.GetExtension(costExtension).(Cost); ok {
			graphql.RegisterExtension(ctx, costExtension, cost)
		}
	}
	return next(ctx)
}

// refusal dresses a domain error for the engine, whose hooks take no other.
func refusal(err *inbox.Error) *gqlerror.Error {
	refused := gqlerror.Wrap(err)
	errcode.Set(refused, string(err.Code))
	return refused
}

// validationError makes an error with the code of a document that does not fit the schema.
func validationError(position *ast.Position, format string, args ...any) *gqlerror.Error {
	err := gqlerror.ErrorPosf(position, format, args...)
	errcode.Set(err, errcode.ValidationFailed)
	return err
}

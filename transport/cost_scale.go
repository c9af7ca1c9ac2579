package transport

import (
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Sizes of lists that are not numbers.
const (
	// enclosing is a list as long as the arguments of the field around it say, such as a connection's edges.
	enclosing = -1
	// counted is a list as long as the field's own argument.
	counted = -2
)

const (
	// unknownList is the size of a list of which the scale says nothing: that of the largest page.
	unknownList = 100
	// mutationCost is what a mutation costs beside its rows and its payload: a transaction.
	mutationCost = 10
	// countCost is what a count costs: it looks at up to 10,000 entries of an index.
	countCost = 10
	// schemaCost is what __schema costs beside its objects, so that nobody has it twice in an operation:
	// the engine spends more on an object of it than on one of ours.
	schemaCost = 8000
	typeCost   = 500
)

// coordinate names a field of a type.
type coordinate struct{ typ, field string }

// scale says what things cost. The unit is one object of the largest answer that an operation can have:
// whoever counts the opening braces below "data" in that answer has the cost but for the surcharges.
// Connections, edges and nodes count alike, because rendering an object costs more than reading it. Beside
// objects these cost something:
//
//   - an alias, wherever it is used: aliases are how one row is sent many times;
//   - a count, and introspection;
//   - a mutation, and each id, recipient or tag in its input, whatever of the payload is selected.
//
// What @skip and @include leave out counts, and so do all the fragments on an interface of which only one
// can apply.
type scale struct {
	// lists is how long lists are taken to be that no argument bounds.
	lists map[coordinate]int
	// inputs is the argument that tells the size of a list, or how much a mutation writes.
	inputs map[coordinate]string
	// surcharges is what a field costs beside its objects.
	surcharges map[coordinate]int
}

func newScale() scale {
	return scale{
		lists: map[coordinate]int{
			{"Query", "users"}:                        counted,
			{"Query", "nodes"}:                        counted,
			{"Settings", "preferences"}:               10, // 1,000 at most, but people switch off a few
			{"User", "devices"}:                       5,  // 100 at most, but people have few
			{"Notification", "pushDeliveries"}:        5,  // one for each device
			{"DispatchPayload", "results"}:            0,  // one for each recipient, who is paid for
			{"NotificationsPayload", "notifications"}: enclosing,
			{"NotificationsUpdated", "notifications"}: 100,

			{"__Schema", "types"}:       80,
			{"__Schema", "directives"}:  6,
			{"__Directive", "args"}:     2,
			{"__Field", "args"}:         1,
			{"__Type", "fields"}:        6,
			{"__Type", "inputFields"}:   2,
			{"__Type", "interfaces"}:    1,
			{"__Type", "possibleTypes"}: 1,
			{"__Type", "enumValues"}:    2,
		},
		inputs: map[coordinate]string{
			{"Query", "users"}:                      "userIds",
			{"Query", "nodes"}:                      "ids",
			{"Mutation", "dispatch"}:                "input.recipients",
			{"Mutation", "markNotificationsRead"}:   "input.ids",
			{"Mutation", "markNotificationsUnread"}: "input.ids",
			{"Mutation", "archiveNotifications"}:    "input.ids",
			{"Mutation", "unarchiveNotifications"}:  "input.ids",
			{"Mutation", "deleteNotifications"}:     "input.ids",
			{"Mutation", "putItem"}:                 "input.tags",
		},
		surcharges: map[coordinate]int{
			{"User", "unreadCount"}:                  countCost,
			{"User", "unseenCount"}:                  countCost,
			{"Mutation", "markAllNotificationsRead"}: 1000, // writes in batches of 1,000
			{"Query", "__schema"}:                    schemaCost,
			{"Query", "__type"}:                      typeCost,
		},
	}
}

// size returns how many objects a field with a selection set yields, enclosing or counted.
func (s scale) size(at coordinate, f *ast.Field) int {
	if f.Definition.Type.Elem == nil {
		return 1
	}
	if isConnection(at.typ) {
		return enclosing
	}
	if size, ok := s.lists[at]; ok {
		return size
	}
	if f.Definition.Type.Name() == "UserError" {
		return 1
	}
	return unknownList
}

// object returns what an object costs itself: nothing where introspection wraps a type in another.
func (scale) object(f *ast.Field) int {
	if f.Name == "ofType" && f.ObjectDefinition.Name == "__Type" {
		return 0
	}
	return 1
}

func isConnection(typ string) bool { return strings.HasSuffix(typ, "Connection") }

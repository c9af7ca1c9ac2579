package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
)

// countReads returns how many different reads the client has selected of the current field's object. Each of
// them loads or refuses.
func countReads(ctx context.Context, userID string) int {
	object := graphql.GetFieldContext(ctx).Parent
	types := []string{graphql.GetFieldContext(ctx).Object, "Node"}
	var pages int
	selected := map[string]bool{}
	for fc := object; fc != nil; fc = fc.Parent {
		if fc.Index != nil {
			continue // an element; its list has the selection
		}
		for _, f := range graphql.CollectFields(graphql.GetOperationContext(ctx), fc.Field.Selections, types) {
			switch name := f.Name; name {
			case "account", "settings":
				selected["profile"] = true
			case "unreadCount", "unseenCount", "countedAt":
				selected["badge"] = !hasBadge(object)
			case "devices", "preferences":
				selected[name] = true
			case "notifications", "activities", "items":
				pages++ // an alias each
			}
		}
		break
	}
	if types[0] == "User" && mayRead(ctx, userID) != nil {
		return 1 // the account: the other fields refuse before they ask for a trip
	}
	reads := pages
	for _, isSelected := range selected {
		if isSelected {
			reads++
		}
	}
	return max(1, reads)
}

// hasBadge reports whether an object is a user whose badge is known: a subscription's.
func hasBadge(object *graphql.FieldContext) bool {
	user, ok := object.Result.(*inbox.User)
	return ok && user != nil && user.Badge != nil
}

// placeOf returns the list that the current field's object stands in, which element it is below, and how deep.
// For an object outside a list it returns the object itself.
func placeOf(ctx context.Context) (list, element *graphql.FieldContext, depth int) {
	object := graphql.GetFieldContext(ctx).Parent
	for fc := object; fc != nil; fc = fc.Parent {
		if fc.Index != nil && fc.Parent != nil {
			return fc.Parent, fc, depth
		}
		depth++
	}
	return object, nil, 0
}

// countObjects returns how many objects of different users there are at a place.
func countObjects(list, element *graphql.FieldContext, depth int) int {
	if element == nil {
		return 1
	}
	// What is read below an element is read below a user.
	return countUsers(list.Result, depth == 0 && isSettings(list.Result, *element.Index))
}

// isSettings reports whether an element of a list is a user's settings.
func isSettings(list any, index int) bool {
	nodes, ok := list.([]inbox.Node)
	if !ok {
		return false
	}
	_, ok = nodes[index].(*inbox.Settings)
	return ok
}

// countUsers returns how many distinct users there are in a list, or how many distinct users' settings: a
// list of nodes may hold both.
func countUsers(list any, ofSettings bool) int {
	users := map[string]struct{}{}
	add := func(n inbox.Node) {
		switch n := n.(type) {
		case *inbox.User:
			if n != nil && !ofSettings {
				users[n.ID] = struct{}{}
			}
		case *inbox.Settings:
			if ofSettings {
				users[n.UserID] = struct{}{}
			}
		}
	}
	switch list := list.(type) {
	case []*inbox.User:
		for _, u := range list {
			add(u)
		}
	case []inbox.Node:
		for _, n := range list {
			add(n)
		}
	}
	return max(1, len(users))
}

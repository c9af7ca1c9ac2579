package resolvers

import (
	"context"

	"belfry/inbox"
)

// Node resolves Query.node.
func (r queryResolver) Node(ctx context.Context, id string) (inbox.Node, error) {
	nodes, err := r.nodes(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	return nodes[0], nil
}

// Nodes resolves Query.nodes.
func (r queryResolver) Nodes(ctx context.Context, ids []string) ([]inbox.Node, error) {
	if len(ids) > inbox.MaxUsers {
		return nil, inbox.BadArgument("ids", "ids has more than %d elements", inbox.MaxUsers)
	}
	return r.nodes(ctx, ids)
}

// nodes returns the objects in the order of their ids, nil for those that do not exist or may not be
// seen. It costs at most one statement for each kind, and one for the names of actors.
func (r queryResolver) nodes(ctx context.Context, ids []string) ([]inbox.Node, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	visible := make([]inbox.NodeID, len(ids))
	for i, id := range ids {
		if n, ok := inbox.ParseNodeID(id); ok && caller.MayRead(n.UserID) {
			visible[i] = n
		}
	}
	found := map[inbox.Kind]map[string]inbox.Node{}
	for _, read := range []func(context.Context, []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error){
		r.readUsers, r.readAccounts, r.readSettings, r.readNotifications, r.readDevices, r.readActivities, r.readItems,
	} {
		kind, nodes, err := read(ctx, visible)
		if err != nil {
			return nil, err
		}
		found[kind] = nodes
	}
	nodes := make([]inbox.Node, len(ids))
	for i, n := range visible {
		// A miss leaves an untyped nil, which a nil pointer in an interface would not be.
		nodes[i] = found[n.Kind][ids[i]]
	}
	return nodes, nil
}

func (r queryResolver) readUsers(_ context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	for _, u := range usersOf(ids, inbox.KindUser) {
		add(nodes, &inbox.User{ID: u})
	}
	return inbox.KindUser, nodes, nil
}

func (r queryResolver) readAccounts(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	users := usersOf(ids, inbox.KindAccount)
	if len(users) == 0 {
		return inbox.KindAccount, nodes, nil
	}
	accounts, err := r.store.Accounts(ctx, users)
	for _, a := range accounts {
		add(nodes, a)
	}
	return inbox.KindAccount, nodes, err
}

func (r queryResolver) readSettings(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	users := usersOf(ids, inbox.KindSettings)
	if len(users) == 0 {
		return inbox.KindSettings, nodes, nil
	}
	settings, err := r.store.Settings(ctx, users)
	for _, s := range settings {
		add(nodes, s)
	}
	return inbox.KindSettings, nodes, err
}

func (r queryResolver) readNotifications(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	if len(usersOf(ids, inbox.KindNotification)) == 0 {
		return inbox.KindNotification, nodes, nil
	}
	found, err := r.store.Notifications(ctx, ids)
	list := make([]*inbox.Notification, 0, len(found))
	for _, n := range found {
		add(nodes, n)
		list = append(list, n)
	}
	if err == nil {
		err = extrasOf(ctx).fill(ctx, r.store, list)
	}
	return inbox.KindNotification, nodes, err
}

func (r queryResolver) readDevices(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	users := usersOf(ids, inbox.KindDevice)
	if len(users) == 0 {
		return inbox.KindDevice, nodes, nil
	}
	devices, err := r.store.Devices(ctx, users)
	for _, list := range devices {
		for _, d := range list {
			add(nodes, d)
		}
	}
	return inbox.KindDevice, nodes, err
}

func (r queryResolver) readActivities(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	return readByKey(ctx, ids, inbox.KindActivity, r.store.Activities)
}

func (r queryResolver) readItems(ctx context.Context, ids []inbox.NodeID) (inbox.Kind, map[string]inbox.Node, error) {
	return readByKey(ctx, ids, inbox.KindItem, r.store.Items)
}

// readByKey reads the objects of a kind whose ids are keys of their rows, where any are named.
func readByKey[T inbox.Node](
	ctx context.Context, ids []inbox.NodeID, kind inbox.Kind, read func(context.Context, []inbox.NodeID) (map[string]T, error),
) (inbox.Kind, map[string]inbox.Node, error) {
	nodes := map[string]inbox.Node{}
	if len(usersOf(ids, kind)) == 0 {
		return kind, nodes, nil
	}
	found, err := read(ctx, ids)
	for id, n := range found {
		nodes[id] = n
	}
	return kind, nodes, err
}

func add(nodes map[string]inbox.Node, n inbox.Node) { nodes[n.NodeID()] = n }

// usersOf returns whose objects of a kind the ids name.
func usersOf(ids []inbox.NodeID, kind inbox.Kind) []string {
	var users []string
	for _, n := range ids {
		if n.Kind == kind {
			users = append(users, n.UserID)
		}
	}
	return users
}

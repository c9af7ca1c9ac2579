package resolvers

import (
	"context"
	"fmt"

	"belfry/graph"
	"belfry/inbox"
	"belfry/storage"
)

type readDevices struct{}

// Devices resolves User.devices.
func (r userResolver) Devices(ctx context.Context, user *inbox.User) ([]*inbox.Device, error) {
	if err := mayRead(ctx, user.ID); err != nil {
		return nil, err
	}
	return load(ctx, r.store, user.ID, read[[]*inbox.Device]{name: readDevices{}, queue: (*storage.Batch).Devices})
}

// RegisterDevice resolves Mutation.registerDevice.
func (r mutationResolver) RegisterDevice(ctx context.Context, input graph.RegisterDeviceInput) (*graph.RegisterDevicePayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	in := inbox.DeviceInput{
		Provider: input.Provider, Token: input.Token, Platform: input.Platform,
		InstallationID: input.DeviceID, Name: input.Name,
	}
	if userErrors := in.Check(); len(userErrors) > 0 {
		return &graph.RegisterDevicePayload{UserErrors: userErrors}, nil
	}
	device, ok, err := r.store.RegisterDevice(ctx, caller.UserID, in)
	if err != nil {
		return nil, err
	}
	payload := &graph.RegisterDevicePayload{Device: device}
	if !ok {
		payload.UserErrors = []*inbox.UserError{{
			Code:    inbox.TooLarge,
			Message: fmt.Sprintf("a user has at most %d devices", storage.MaxDevices),
			Field:   []string{"input", "token"},
		}}
	}
	return payload, nil
}

// UnregisterDevice resolves Mutation.unregisterDevice. A token that another user has registered meanwhile
// is that one's device, of another id, and is left alone.
func (r mutationResolver) UnregisterDevice(ctx context.Context, input graph.UnregisterDeviceInput) (*graph.UnregisterDevicePayload, error) {
	caller, err := inbox.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	n, ok := inbox.ParseNodeID(input.ID)
	if !ok || n.Kind != inbox.KindDevice {
		return &graph.UnregisterDevicePayload{UserErrors: []*inbox.UserError{{
			Code: inbox.Invalid, Message: "not the id of a device", Field: []string{"input", "id"},
		}}}, nil
	}
	payload := &graph.UnregisterDevicePayload{}
	if n.UserID != caller.UserID {
		return payload, nil
	}
	found, err := r.store.UnregisterDevice(ctx, caller.UserID, n.Position.ID)
	if found {
		payload.DeletedID = &input.ID
	}
	return payload, err
}

package archive

import (
	"belfry/inbox"
	"belfry/normal"
)

// scanAccount reads an account.
func scanAccount(s *scanner) inbox.Record {
	r := &inbox.AccountRecord{}
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "email":
			r.Email = s.optional()
		case "displayName":
			r.DisplayName = s.string()
		case "avatarUrl":
			r.AvatarURL = s.optional()
		case "createdAt":
			r.CreatedAt = s.instant()
		default:
			s.unknown()
		}
	})
	return r
}

// scanSettings reads settings with their preferences.
func scanSettings(s *scanner) inbox.Record {
	r := &inbox.SettingsRecord{}
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "theme":
			r.Theme = enum[inbox.Theme](s)
		case "locale":
			r.Locale = s.optional()
		case "timeZone":
			r.TimeZone = s.optional()
		case "emailDigest":
			r.EmailDigest = enum[inbox.EmailDigest](s)
		case "preferences":
			s.array(func() { r.Preferences = append(r.Preferences, s.preference()) })
		case "updatedAt":
			r.UpdatedAt = s.instant()
		default:
			s.unknown()
		}
	})
	return r
}

func (s *scanner) preference() inbox.Preference {
	var p inbox.Preference
	var isSaid bool
	s.object(func(name string) {
		switch name {
		case "category":
			p.Category = s.string()
		case "channel":
			p.Channel = inbox.Channel(s.string())
		case "enabled":
			p.Enabled, isSaid = s.boolean(), true
		default:
			s.unknown()
		}
	})
	if !isSaid {
		s.failf("enabled is required")
	}
	return p
}

// scanSeen reads how far a user has seen the list.
func scanSeen(s *scanner) inbox.Record {
	r := &inbox.SeenRecord{}
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "through":
			r.Through = s.cursor()
		case "horizon":
			r.Horizon = s.uuid()
		default:
			s.unknown()
		}
	})
	return r
}

// scanItem reads an item. Its tags are normalised as the API does.
func scanItem(s *scanner) inbox.Record {
	r := &inbox.ItemRecord{}
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "itemId":
			r.ItemID = s.string()
		case "title":
			r.Title = s.string()
		case "url":
			r.URL = s.optional()
		case "data":
			r.Data = s.json()
		case "tags":
			s.array(func() { r.Tags = append(r.Tags, normal.Tag(s.string())) })
		case "createdAt":
			r.CreatedAt = s.instant()
		default:
			s.unknown()
		}
	})
	return r
}

// scanDevice reads a device.
func scanDevice(s *scanner) inbox.Record {
	r := &inbox.DeviceRecord{}
	var id *inbox.NodeID
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "id":
			id = s.nodeID(inbox.KindDevice)
		case "userId":
			r.UserID = s.string()
		case "provider":
			r.Provider = inbox.Provider(s.string())
		case "token":
			r.Token = s.string()
		case "platform":
			r.Platform = enum[inbox.Platform](s)
		case "deviceId":
			r.InstallationID = s.optional()
		case "name":
			r.Name = s.optional()
		case "createdAt":
			r.CreatedAt = s.moment()
		case "lastSeenAt":
			r.LastSeenAt = s.moment()
		case "disabledAt":
			r.DisabledAt = s.instant()
		case "disabledReason":
			r.DisabledReason = s.optional()
		default:
			s.unknown()
		}
	})
	if s.owned("id", id, r.UserID) {
		r.ID = id.Position.ID
	}
	return r
}

// scanDelivery reads a line of the push ledger.
func scanDelivery(s *scanner) inbox.Record {
	r := &inbox.DeliveryRecord{}
	var notification, device *inbox.NodeID
	s.object(func(name string) {
		switch name {
		case "type":
			s.raw()
		case "userId":
			r.UserID = s.string()
		case "notificationId":
			notification = s.nodeID(inbox.KindNotification)
		case "deviceId":
			device = s.nodeID(inbox.KindDevice)
		case "id":
			r.ID = s.uuid()
		case "provider":
			r.Provider = inbox.Provider(s.string())
		case "status":
			r.Status = inbox.PushStatus(s.string())
		case "error":
			r.Error = s.optional()
		case "detail":
			r.Detail = s.optional()
		case "ticket":
			r.Ticket = s.optional()
		case "createdAt":
			r.CreatedAt = s.moment()
		case "sentAt":
			r.SentAt = s.instant()
		case "settledAt":
			r.SettledAt = s.instant()
		default:
			s.unknown()
		}
	})
	if s.owned("notificationId", notification, r.UserID) && s.owned("deviceId", device, r.UserID) {
		r.Notification, r.DeviceID = notification.Position, device.Position.ID
	}
	return r
}

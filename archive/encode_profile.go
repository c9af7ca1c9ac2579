package archive

import "belfry/inbox"

type accountLine struct {
	Type        string   `json:"type"`
	UserID      string   `json:"userId"`
	Email       *string  `json:"email,omitempty"`
	DisplayName string   `json:"displayName"`
	AvatarURL   *string  `json:"avatarUrl,omitempty"`
	CreatedAt   *instant `json:"createdAt"`
}

func newAccountLine(a *inbox.AccountRecord) accountLine {
	return accountLine{"account", a.UserID, a.Email, a.DisplayName, a.AvatarURL, optionalInstant(a.CreatedAt)}
}

type settingsLine struct {
	Type        string             `json:"type"`
	UserID      string             `json:"userId"`
	Theme       *inbox.Theme       `json:"theme,omitempty"`
	Locale      *string            `json:"locale,omitempty"`
	TimeZone    *string            `json:"timeZone,omitempty"`
	EmailDigest *inbox.EmailDigest `json:"emailDigest,omitempty"`
	Preferences []preferenceMember `json:"preferences,omitempty"`
	UpdatedAt   *instant           `json:"updatedAt"`
}

type preferenceMember struct {
	Category string        `json:"category"`
	Channel  inbox.Channel `json:"channel"`
	Enabled  bool          `json:"enabled"`
}

func newSettingsLine(s *inbox.SettingsRecord) settingsLine {
	preferences := make([]preferenceMember, len(s.Preferences))
	for i, p := range s.Preferences {
		preferences[i] = preferenceMember(p)
	}
	return settingsLine{
		"settings", s.UserID, s.Theme, s.Locale, s.TimeZone, s.EmailDigest, preferences, optionalInstant(s.UpdatedAt),
	}
}

type seenLine struct {
	Type    string `json:"type"`
	UserID  string `json:"userId"`
	Through string `json:"through"`
	Horizon string `json:"horizon"`
}

type deviceLine struct {
	Type           string          `json:"type"`
	ID             string          `json:"id"`
	UserID         string          `json:"userId"`
	Provider       inbox.Provider  `json:"provider"`
	Token          string          `json:"token"`
	Platform       *inbox.Platform `json:"platform,omitempty"`
	DeviceID       *string         `json:"deviceId,omitempty"`
	Name           *string         `json:"name,omitempty"`
	CreatedAt      instant         `json:"createdAt"`
	LastSeenAt     instant         `json:"lastSeenAt"`
	DisabledAt     *instant        `json:"disabledAt,omitempty"`
	DisabledReason *string         `json:"disabledReason,omitempty"`
}

func newDeviceLine(d *inbox.DeviceRecord) deviceLine {
	return deviceLine{
		"device", d.NodeID(), d.UserID, d.Provider, d.Token, d.Platform, d.InstallationID, d.Name,
		instant(d.CreatedAt), instant(d.LastSeenAt), optionalInstant(d.DisabledAt), d.DisabledReason,
	}
}

type deliveryLine struct {
	Type           string           `json:"type"`
	UserID         string           `json:"userId"`
	NotificationID string           `json:"notificationId"`
	DeviceID       string           `json:"deviceId"`
	ID             string           `json:"id"`
	Provider       inbox.Provider   `json:"provider"`
	Status         inbox.PushStatus `json:"status"`
	Error          *string          `json:"error,omitempty"`
	Detail         *string          `json:"detail,omitempty"`
	Ticket         *string          `json:"ticket,omitempty"`
	CreatedAt      instant          `json:"createdAt"`
	SentAt         *instant         `json:"sentAt,omitempty"`
	SettledAt      *instant         `json:"settledAt,omitempty"`
}

func newDeliveryLine(d *inbox.DeliveryRecord) deliveryLine {
	device := inbox.NodeID{Kind: inbox.KindDevice, UserID: d.UserID, Position: inbox.Cursor{ID: d.DeviceID}}
	return deliveryLine{
		"pushDelivery", d.UserID, inbox.NotificationID(d.UserID, d.Notification), device.String(), d.ID.String(), d.Provider,
		d.Status, d.Error, d.Detail, d.Ticket, instant(d.CreatedAt), optionalInstant(d.SentAt), optionalInstant(d.SettledAt),
	}
}

package inbox

import "time"

// PushStatus is what became of a push.
type PushStatus string

// The statuses. The last five are final.
const (
	PushQueued       PushStatus = "QUEUED"
	PushSending      PushStatus = "SENDING"
	PushSent         PushStatus = "SENT"
	PushDelivered    PushStatus = "DELIVERED"
	PushFailed       PushStatus = "FAILED"
	PushReceiptError PushStatus = "RECEIPT_ERROR"
	PushUnknown      PushStatus = "UNKNOWN"
	PushSuppressed   PushStatus = "SUPPRESSED"
)

// PushDelivery is a line of the ledger: the push of one notification to one device.
type PushDelivery struct {
	// Device is nil where the user has it no more.
	Device *Device
	Status PushStatus
	// Error is the provider's code as it gave it, or in lower case one of Belfry's own.
	Error     *string
	CreatedAt time.Time
	// SentAt is when the provider took it.
	SentAt *time.Time
	// SettledAt is when the status became final.
	SettledAt *time.Time
}

// NodeID returns the opaque id.
func (d *Device) NodeID() string {
	return NodeID{Kind: KindDevice, UserID: d.UserID, Position: Cursor{ID: d.ID}}.String()
}

// AppendNodeID appends the opaque id.
func (d *Device) AppendNodeID(b []byte) []byte {
	return NodeID{Kind: KindDevice, UserID: d.UserID, Position: Cursor{ID: d.ID}}.Append(b)
}

package exposim

import (
	"encoding/json"
	"slices"
	"time"
)

// Delivery is what a device was given.
type Delivery struct {
	Token   string `json:"token"`
	Project string `json:"project"`
	// TicketID is "" where the ticket had none.
	TicketID   string          `json:"ticketId,omitempty"`
	Title      string          `json:"title,omitempty"`
	Body       string          `json:"body,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Badge      *int            `json:"badge,omitempty"`
	CollapseID string          `json:"collapseId,omitempty"`
	Tag        string          `json:"tag,omitempty"`
	At         time.Time       `json:"at"`
}

// Deliveries returns what devices were given, in order, the latest Config.Keep of them.
func (s *Simulator) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.deliveries[max(0, len(s.deliveries)-s.config.Keep):]
	return append(make([]Delivery, 0, len(kept)), kept...)
}

// Shown returns what the screen of each device shows: of deliveries with one collapseId or tag, the last.
// A simulator does not know a device's system, so both count on each; and Android drops repeats of a
// collapseId only in transit, so a message that Android is to show once needs its tag.
func (s *Simulator) Shown() map[string][]Delivery {
	shown := map[string][]Delivery{}
	for _, d := range s.Deliveries() {
		replaced := func(old Delivery) bool {
			return d.Tag != "" && d.Tag == old.Tag || d.CollapseID != "" && d.CollapseID == old.CollapseID
		}
		shown[d.Token] = append(slices.DeleteFunc(shown[d.Token], replaced), d)
	}
	return shown
}

// deliver remembers a delivery; s.mu is held. Twice as many as wanted are held, so that the oldest are
// moved out of the way once in a while and not each time.
func (s *Simulator) deliver(d Delivery) {
	if len(s.deliveries) >= 2*s.config.Keep {
		kept := copy(s.deliveries, s.deliveries[len(s.deliveries)-s.config.Keep:])
		clear(s.deliveries[kept:])
		s.deliveries = s.deliveries[:kept]
	}
	s.deliveries = append(s.deliveries, d)
	s.stats.Delivered++
}

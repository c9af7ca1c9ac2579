package exposim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// getReceipts answers a request for receipts.
func (s *Simulator) getReceipts(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.stats.ReceiptRequests++
	fault := next(&s.receipts)
	s.mu.Unlock()
	if !s.isAuthorized(w, r) {
		return
	}
	body, err := readBody(w, r)
	var request struct {
		IDs []string `json:"ids"`
	}
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	switch {
	case err != nil:
		respondError(w, http.StatusBadRequest, codeValidation, err.Error(), nil)
	case request.IDs == nil:
		respondError(w, http.StatusBadRequest, codeValidation, `"ids" is required.`, nil)
	case len(request.IDs) > maxReceipts:
		text := fmt.Sprintf("You can request a maximum of %d receipts per request (received %d).", maxReceipts, len(request.IDs))
		respondError(w, http.StatusBadRequest, codeTooManyReceipts, text, nil)
	case fault == Array:
		respondData(w, []byte(`[{"status":"ok"}]`))
	default:
		data, err := json.Marshal(s.lookUp(request.IDs))
		if err != nil {
			panic(err) // the receipts are constants
		}
		fault.respond(w, r, data)
	}
}

// lookUp returns the receipts that are there now.
func (s *Simulator) lookUp(ids []string) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	found := make(map[string]json.RawMessage, len(ids))
	for _, id := range ids {
		at, outcome, ok := s.issued.read(id)
		age := now.Sub(at)
		if ok && outcomes[outcome].receipt != "" && age >= s.config.ReceiptDelay && age < receiptsExpire {
			found[id] = json.RawMessage(outcomes[outcome].receipt)
		}
	}
	return found
}

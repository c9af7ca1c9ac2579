package exposim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// send answers a request to send.
func (s *Simulator) send(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.stats.SendRequests++
	fault := next(&s.sends)
	s.mu.Unlock()
	if !s.isAuthorized(w, r) {
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		respondError(w, http.StatusBadRequest, codeValidation, err.Error(), nil)
		return
	}
	messages, isOne, err := decodeMessages(body)
	if err != nil {
		respondError(w, http.StatusBadRequest, codeValidation, err.Error(), nil)
		return
	}
	b := survey(messages)
	if fault == None {
		fault = b.fault
	}
	switch {
	case !fault.isTaking():
		fault.respond(w, r, nil)
	case b.recipients > maxMessages:
		text := fmt.Sprintf("You can send a maximum of %d notifications per request (received %d); divide your requests.", maxMessages, b.recipients)
		respondError(w, http.StatusBadRequest, codeTooManyMessages, text, nil)
	case len(b.projects) > 1:
		respondError(w, http.StatusBadRequest, codeTooManyProjects,
			"All push notification messages in the same request must be for the same project; check the details field to investigate conflicting tokens.", b.projects)
	default:
		tickets, ok := s.accept(b)
		if !ok {
			respondError(w, http.StatusTooManyRequests, codeTooManyRequests, messageTooManyAtOnce, nil)
			return
		}
		fault.respond(w, r, listTickets(tickets, fault, isOne && !messages[0].To.isList))
	}
}

// batch is what one request holds.
type batch struct {
	messages   []message
	recipients int
	projects   map[string][]string // the tokens of each
	fault      Fault               // the first that a token asks for
}

func survey(messages []message) batch {
	b := batch{messages: messages, projects: map[string][]string{}}
	for i := range messages {
		for _, token := range messages[i].To.tokens {
			b.recipients++
			project, word := words(token)
			b.projects[project] = append(b.projects[project], token)
			if b.fault == None && slices.Contains(allFaults, Fault(word)) {
				b.fault = Fault(word)
			}
		}
	}
	return b
}

// accept takes a batch of one project and returns its tickets, or false where its rate does not allow that.
func (s *Simulator) accept(b batch) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for project := range b.projects {
		if !s.take(project, b.recipients, now) {
			return nil, false
		}
	}
	tickets := make([]string, 0, b.recipients+1)
	for i := range b.messages {
		m := &b.messages[i]
		for _, token := range m.To.tokens {
			project, word := words(token)
			index := outcomeByWord[word]
			if index == 0 && m.size() > maxPayload {
				index = tooBig
			}
			o, id := outcomes[index], ""
			if o.ticket == "" {
				id = s.issued.issue(now, index)
				tickets = append(tickets, `{"status":"ok","id":"`+id+`"}`)
			} else {
				tickets = append(tickets, strings.ReplaceAll(o.ticket, "%s", quotable(token)))
			}
			s.stats.Messages++
			if o.reaches {
				s.deliver(Delivery{
					Token: token, Project: project, TicketID: id, Title: m.Title, Body: m.Body, Data: m.Data,
					Badge: m.Badge, CollapseID: m.CollapseID, Tag: m.Tag, At: now,
				})
			}
		}
	}
	return tickets, true
}

// quotable returns a token as it can stand within a JSON string.
func quotable(token string) string {
	quoted, _ := json.Marshal(token) // a string has no fault
	return string(quoted[1 : len(quoted)-1])
}

// listTickets writes the tickets as the value of data.
func listTickets(tickets []string, fault Fault, isOne bool) []byte {
	switch {
	case fault == Short && len(tickets) > 0:
		tickets = tickets[1:]
	case fault == Long:
		tickets = append(tickets, outcomes[0].receipt)
	case fault == Array:
		return []byte(`{"0":{"status":"ok"}}`)
	case isOne:
		return []byte(tickets[0])
	}
	size := 2
	for _, t := range tickets {
		size += len(t) + 1
	}
	list := append(make([]byte, 0, size), '[')
	for i, t := range tickets {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t...)
	}
	return append(list, ']')
}

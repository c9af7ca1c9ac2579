package websocket

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"belfry/inbox"
)

// message is what a client sends.
type message struct {
	Type    string          `json:"type"`
	ID      *string         `json:"id"`
	Payload json.RawMessage `json:"payload"`
}

// isObject reports whether a payload is a JSON object.
func isObject(payload json.RawMessage) bool { return len(payload) > 0 && payload[0] == '{' }

// isAbsent reports whether a payload is missing or null, which is the same.
func isAbsent(payload json.RawMessage) bool { return len(payload) == 0 || string(payload) == "null" }

// receive acts on a message. What breaks the protocol closes the socket.
func (s *socket) receive(ctx context.Context, data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		s.close(codeBadRequest, "Invalid message received")
		return
	}
	switch m.Type {
	case "connection_init":
		s.init(ctx, m)
	case "ping":
		s.pong(ctx, m)
	case "pong":
		if !isAbsent(m.Payload) && !isObject(m.Payload) {
			s.close(codeBadRequest, "The payload is not an object")
		}
	case "subscribe":
		s.subscribe(ctx, m)
	case "complete":
		s.complete(m)
	default:
		s.close(codeBadRequest, "Invalid message type")
	}
}

// init takes the token, from the payload or, where that has none, from the request that opened the socket.
func (s *socket) init(ctx context.Context, m message) {
	if s.hasInit {
		s.close(codeTooManyInits, "Too many initialisation requests")
		return
	}
	s.hasInit = true
	if !isAbsent(m.Payload) && !isObject(m.Payload) {
		s.close(codeBadRequest, "The payload is not an object")
		return
	}
	if token, ok := tokenIn(m.Payload); ok {
		s.caller, s.callerErr = s.transport.cfg.Authenticate(ctx, token)
		switch inbox.ErrorCode(s.callerErr) {
		case "":
		case inbox.Unavailable:
			s.close(codeTryLater, "Tokens can't be checked")
			return
		default:
			s.close(codeForbidden, "Forbidden")
			return
		}
	}
	s.setExpiry()
	s.isAcked = true
	if s.write(ctx, []byte(`{"type":"connection_ack"}`)) == nil && s.isPinging.CompareAndSwap(false, true) {
		go s.ping()
	}
}

// tokenIn finds a token in the payload of connection_init: {"Authorization": "Bearer ..."}, in any case, as
// clients send what they would put into a header, or {"token": "..."}.
func tokenIn(payload json.RawMessage) (string, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return "", false
	}
	for name, value := range fields {
		var text string
		isAuthorization := strings.EqualFold(name, "authorization")
		if !isAuthorization && name != "token" || json.Unmarshal(value, &text) != nil || text == "" {
			continue
		}
		if scheme, rest, ok := strings.Cut(text, " "); ok && strings.EqualFold(scheme, "bearer") {
			text = strings.TrimLeft(rest, " ")
		}
		return text, true
	}
	return "", false
}

// pong answers a ping, with its payload.
func (s *socket) pong(ctx context.Context, m message) {
	switch {
	case isAbsent(m.Payload):
		_ = s.write(ctx, []byte(`{"type":"pong"}`))
	case isObject(m.Payload):
		_ = s.write(ctx, append(append([]byte(`{"type":"pong","payload":`), m.Payload...), '}'))
	default:
		s.close(codeBadRequest, "The payload is not an object")
	}
}

// request is the payload of subscribe.
type request struct {
	Query         *string         `json:"query"`
	OperationName *string         `json:"operationName"`
	Variables     json.RawMessage `json:"variables"`
	Extensions    json.RawMessage `json:"extensions"`
}

// readRequest returns the parameters of an operation, or false where the payload is not of the protocol.
func readRequest(payload json.RawMessage) (*graphql.RawParams, bool) {
	var r request
	if !isObject(payload) || json.Unmarshal(payload, &r) != nil || r.Query == nil {
		return nil, false
	}
	p := &graphql.RawParams{Query: *r.Query}
	if r.OperationName != nil {
		p.OperationName = *r.OperationName
	}
	return p, readObject(r.Variables, &p.Variables) && readObject(r.Extensions, &p.Extensions)
}

// readObject decodes an object, with numbers as they were written. A null is an absent one.
func readObject(raw json.RawMessage, to *map[string]any) bool {
	if isAbsent(raw) {
		return true
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return isObject(raw) && dec.Decode(to) == nil
}

package websocket

import ws "github.com/coder/websocket"

// The codes that a socket is closed with. What official clients do then is what matters: graphql-ws gives
// up for good after 4400, 4401, 4406, 4409, 4429 and most of 1000 to 1999, and comes back after 1012, 1013,
// 4403 and 4408. The 44xx are those of
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md.
const (
	// codeBadRequest: a message that is not of the protocol.
	codeBadRequest ws.StatusCode = 4400
	// codeUnauthorized: an operation before the connection was acknowledged.
	codeUnauthorized ws.StatusCode = 4401
	// codeForbidden: a token that is not valid, or no longer. The client comes back with a new one.
	codeForbidden ws.StatusCode = 4403
	// codeSubprotocol: the client does not offer graphql-transport-ws.
	codeSubprotocol ws.StatusCode = 4406
	// codeInitTimeout: no connection_init in time.
	codeInitTimeout ws.StatusCode = 4408
	// codeDuplicate: an operation whose id is that of one under way.
	codeDuplicate ws.StatusCode = 4409
	// codeTooManyInits: a second connection_init.
	codeTooManyInits ws.StatusCode = 4429
	// codeRestart: the server is stopping; another one takes over.
	codeRestart = ws.StatusServiceRestart // 1012
	// codeTryLater: the peer does not answer or read, or tokens can't be checked right now.
	codeTryLater = ws.StatusTryAgainLater // 1013
)

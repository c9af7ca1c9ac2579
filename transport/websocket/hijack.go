package websocket

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
)

// bufferSize is that of a socket's read and write buffers, in bytes. Messages are short, and longer ones
// pass the buffers by; the 4 kB each that net/http has would be most of what an idle socket takes.
const bufferSize = 512

// smallBuffers hands a connection on with buffers of its own in place of net/http's.
type smallBuffers struct {
	http.ResponseWriter
}

// Hijack implements http.Hijacker.
func (w smallBuffers) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// What the client has sent ahead of the answer is in the buffer that goes.
	ahead, err := buffered.Peek(buffered.Reader.Buffered())
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	if len(ahead) > 0 {
		conn = &aheadConn{conn, bytes.Clone(ahead)}
	}
	return conn, bufio.NewReadWriter(bufio.NewReaderSize(conn, bufferSize), bufio.NewWriterSize(conn, bufferSize)), nil
}

// aheadConn reads what was received already before it reads from the connection.
type aheadConn struct {
	net.Conn
	ahead []byte
}

// Read implements net.Conn.
func (c *aheadConn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
		c.ahead = nil
	}
	return n, nil
}

// Unwrap lets http.ResponseController reach the connection.
func (w smallBuffers) Unwrap() http.ResponseWriter { return w.ResponseWriter }

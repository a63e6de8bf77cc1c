package listener

import (
	"io"
	"net"
	"time"
)

// busy is the answer of HTTP to a connection that can't be had.
var busy = []byte("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

// How many connections are closed gently at a time, and for how long.
const (
	maxGentle = 16
	gentle    = 500 * time.Millisecond
)

// Refuser answers connections that can't be had, as NewRefuser makes it.
type Refuser struct{ gentle chan struct{} }

// NewRefuser returns a Refuser.
func NewRefuser() *Refuser { return &Refuser{make(chan struct{}, maxGentle)} }

// Refuse answers nc, on which plain HTTP is spoken, with 503 and closes it. The answer fits
// a new socket's buffer, so that writing it does not wait. A few such connections at a time
// are closed gently, see discard; in a flood there is no time for that.
func (r *Refuser) Refuse(nc net.Conn) {
	answer(nc)
	select {
	case r.gentle <- struct{}{}:
		go func() {
			discard(nc, make([]byte, 1<<10))
			_ = nc.Close()
			<-r.gentle
		}()
	default:
		_ = nc.Close()
	}
}

// RefuseNow is Refuse for when the descriptor of nc is needed at once.
func RefuseNow(nc net.Conn) {
	answer(nc)
	_ = nc.Close()
}

func answer(nc net.Conn) {
	_ = nc.SetDeadline(time.Now().Add(gentle))
	_, _ = nc.Write(busy)
}

// maxDiscarded is how much discard reads.
const maxDiscarded = 32 << 20

// discard ends our side of nc and reads, into buf, until the client ends its own: closing a
// socket with unread bytes resets the connection, which may take the answer away from the
// client.
func discard(nc net.Conn, buf []byte) {
	if half, ok := nc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	_, _ = io.CopyBuffer(io.Discard, io.LimitReader(onlyReader{nc}, maxDiscarded), buf)
}

// onlyReader hides WriteTo, which would not use the buffer.
type onlyReader struct{ io.Reader }

package origin

import (
	"net"
	"sync"
	"time"
)

// tunnel is a connection after a switch of protocols.
type tunnel struct {
	*conn
	buffered []byte // data that arrived with the head
	once     sync.Once
	in       *Inbound
}

// detach prepares the connection for Conn.
func (in *Inbound) detach() error {
	x := in.x
	first := append([]byte(nil), x.in[x.begin:x.end]...)
	x.begin = x.end
	in.releaseBuffers(true)
	if !in.watch.Stop() {
		return in.ctx.Err()
	}
	in.c.tunnel = &tunnel{conn: in.c, buffered: first, in: in}
	return in.c.SetDeadline(time.Time{})
}

// Conn returns the connection after an answer of 101, and nil otherwise. It belongs to the
// caller and must be closed instead of the Inbound; the context no longer affects it. It has
// a method CloseWrite.
func (in *Inbound) Conn() net.Conn {
	if in.c.tunnel == nil || in.over {
		return nil
	}
	return in.c.tunnel
}

func (t *tunnel) Read(p []byte) (int, error) {
	if len(t.buffered) > 0 {
		n := copy(p, t.buffered)
		t.buffered = t.buffered[n:]
		return n, nil
	}
	return t.conn.Read(p)
}

// CloseWrite closes the direction towards the origin.
func (t *tunnel) CloseWrite() error {
	if c, ok := t.conn.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return t.Close()
}

// Close closes the connection. It may be called from several goroutines.
func (t *tunnel) Close() error {
	t.once.Do(func() { t.in.end(ErrClosed) })
	return nil
}

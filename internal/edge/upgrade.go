package edge

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrNoUpgrade is returned if the connection of this exchange can't be upgraded: the request
// did not ask for an upgrade in HTTP/1.1, its body is not read, or the server does not
// stream.
var ErrNoUpgrade = errors.New("edge: no upgrade of this connection")

// Upgrade sends a 101 with the lines of x.Reply, which name the protocol in Upgrade and have
// no Connection. It returns the connection, which begins with the bytes that the client has
// already sent.
//
// The connection belongs to the handler until Serve returns, which closes it: the handler
// runs as long as the other protocol is spoken. It has no deadlines except the ones that the
// handler sets, and Context no longer ends when the client disconnects. The server counts
// it, leaves it open in a soft stop and closes it in a hard one; the access log has its
// bytes. One goroutine may read while another writes; CloseWrite ends only our side.
func (x *Exchange) Upgrade() (net.Conn, error) {
	c := x.conn
	switch {
	case x.answer.begun:
		return nil, ErrBegun
	case c == nil || x.in.phase != inStream || !x.wantsUpgrade() || !x.body.atEnd():
		return nil, ErrNoUpgrade
	}
	x.answer = Outgoing{x: x, to: c, begun: true, ended: true}
	x.Reply.Status, x.closing = http.StatusSwitchingProtocols, true
	x.out = x.appendHead(x.out[:0], noLength, false)
	if err := c.write(x.out, nil, nil); err != nil {
		x.answer.err = err
		return nil, err
	}
	if x.watch != nil {
		x.watch.stopLooking()
	}
	x.stopScope()
	x.upgraded = &upgradedConn{Conn: c.NC, ahead: bytes.Clone(x.in.buf[x.in.pos:x.in.have])}
	c.Detach()
	_ = c.NC.SetDeadline(time.Time{})
	if c.srv.hard.Err() != nil { // cut may have run before the state was set
		_ = c.Sock.Close()
	}
	return x.upgraded, nil
}

// wantsUpgrade reports whether the request asks for another protocol.
func (x *Exchange) wantsUpgrade() bool {
	r := &x.Request
	return r.Minor > 0 && r.Get("Upgrade") != nil && lists(r.Fields, "connection", "upgrade")
}

// upgradedConn is a connection that no longer speaks HTTP.
type upgradedConn struct {
	net.Conn
	ahead   []byte // read together with the request
	in, out atomic.Int64
}

// Read implements net.Conn.
func (u *upgradedConn) Read(p []byte) (n int, err error) {
	if len(u.ahead) > 0 {
		n = copy(p, u.ahead)
		u.ahead = u.ahead[n:]
	} else {
		n, err = u.Conn.Read(p)
	}
	u.in.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (u *upgradedConn) Write(p []byte) (int, error) {
	n, err := u.Conn.Write(p)
	u.out.Add(int64(n))
	return n, err
}

// CloseWrite ends our side of the connection.
func (u *upgradedConn) CloseWrite() error {
	if half, ok := u.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// account closes the connection and adds its bytes to those of the exchange.
func (u *upgradedConn) account(x *Exchange) {
	_ = u.Conn.Close()
	x.in.wire += int(u.in.Load())
	x.sent += int(u.out.Load())
}

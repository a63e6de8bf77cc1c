//go:build !linux

package load

import "net"

const eventLoops = false

// socket is empty: only event loops need it.
type socket struct{}

func (*socket) close() {}

func (c *conn) attach(nc net.Conn) error {
	c.stream = nc
	return nil
}

// runEvents is never called here: eventLoops is false.
func runEvents(*counts, []*conn) {}

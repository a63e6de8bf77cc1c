//go:build !linux

package load

import "net"

const eventLoops = false

// socket stands for what only an event loop needs.
type socket struct{}

func (*socket) close() {}

func (c *conn) attach(nc net.Conn) error {
	c.stream = nc
	return nil
}

// runEvents is never called here: eventLoops is false.
func runEvents(*tally, []*conn) {}

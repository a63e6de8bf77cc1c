package dax

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// frameHead stands before a frame of a reply: four bytes with the frame's length, these
// included, and four that say which frame it is.
const frameHead = 8

// frame puts a whole reply into one frame, which says that it is the last.
func frame(reply []byte) []byte {
	n := len(reply)
	reply = append(reply, make([]byte, frameHead)...)
	copy(reply[frameHead:], reply[:n])
	binary.BigEndian.PutUint32(reply, uint32(len(reply)))
	binary.BigEndian.PutUint32(reply[4:], lastFrame)
	return reply
}

const lastFrame = 1 << 24

// maxChunk is how much is given at a time once the client does not take all at once: each
// piece has the whole write timeout.
const maxChunk = 64 << 10

// write sends a reply, in one system call as a rule. A socket's buffer mostly has room, so
// that a deadline is only set once it has not.
func (c *conn) write(b []byte) error {
	if c.fd >= 0 {
		n, err := socket.Write(c.fd, b)
		if n == len(b) {
			return nil
		}
		if err != nil && err != syscall.EAGAIN {
			return err
		}
		b = b[max(n, 0):]
	}
	for len(b) > 0 {
		_ = c.nc.SetWriteDeadline(time.Now().Add(c.k.set.limits.WriteTimeout))
		if c.srv.hard.Err() != nil {
			return net.ErrClosed // cut came before the deadline was set anew
		}
		n, err := c.nc.Write(b[:min(len(b), maxChunk)])
		b = b[n:]
		// A client that took a part of the piece goes on; TLS can't.
		if err != nil && (c.secure || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

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

// frameHead is the length of a frame's head: four bytes with the length of the frame,
// including the head, and four bytes with its type.
const frameHead = 8

// frame returns a complete reply in one frame, marked as the last.
func frame(reply []byte) []byte {
	n := len(reply)
	reply = append(reply, make([]byte, frameHead)...)
	copy(reply[frameHead:], reply[:n])
	binary.BigEndian.PutUint32(reply, uint32(len(reply)))
	binary.BigEndian.PutUint32(reply[4:], lastFrame)
	return reply
}

const lastFrame = 1 << 24

// maxChunk is the maximum size of a write after the socket's buffer was full. Each write has
// the full write timeout.
const maxChunk = 64 << 10

// write sends a reply, usually in one system call. A deadline is only set if the socket's
// buffer is full.
func (c *conn) write(b []byte) error {
	if c.FD >= 0 {
		n, err := socket.Write(int(c.FD), b)
		if n == len(b) {
			return nil
		}
		if err != nil && err != syscall.EAGAIN {
			return err
		}
		b = b[max(n, 0):]
	}
	for len(b) > 0 {
		_ = c.NC.SetWriteDeadline(time.Now().Add(c.k.set.limits.WriteTimeout))
		if c.srv.hard.Err() != nil {
			return net.ErrClosed // cut ran before the deadline was set again
		}
		n, err := c.NC.Write(b[:min(len(b), maxChunk)])
		b = b[n:]
		// A client that accepted a part of the chunk may continue; TLS can't.
		if err != nil && (c.Secure || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

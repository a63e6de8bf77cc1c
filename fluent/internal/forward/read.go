package forward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// maxInput bounds one value from a server: HELO, PONG and acknowledgements are far smaller.
const maxInput = 4096

// input holds data that was read but not used yet. It survives an error, so that reading can
// continue after a deadline.
type input struct {
	buf        [maxInput]byte
	start, end int
}

// value reads one MessagePack value. Its bytes are valid until the next call.
func (c *Conn) value() (msgpack.Reader, error) {
	in := &c.in
	for {
		n, err := msgpack.Skip(in.buf[in.start:in.end])
		if err == nil {
			b := in.buf[in.start : in.start+n]
			in.start += n
			return msgpack.NewReader(b), nil
		}
		if !errors.Is(err, msgpack.ErrShort) {
			return msgpack.Reader{}, fmt.Errorf("server sent invalid MessagePack: %w", err)
		}
		if err := in.fill(c.Conn); err != nil {
			return msgpack.Reader{}, err
		}
	}
}

// fill reads more data behind the present.
func (in *input) fill(from io.Reader) error {
	if in.start > 0 {
		copy(in.buf[:], in.buf[in.start:in.end])
		in.end -= in.start
		in.start = 0
	}
	if in.end == len(in.buf) {
		return fmt.Errorf("server sent more than %d bytes that make no message", len(in.buf))
	}
	n, err := from.Read(in.buf[in.end:])
	in.end += n
	if n > 0 {
		return nil // the error will be returned again
	}
	return err
}

// ReadAck waits for the next acknowledgement and returns its chunk id. After an error for
// which Timeout returns true, it may be called again. It returns ErrKeyRequired for a HELO,
// io.EOF for a closed connection, and an error that describes the input otherwise.
func (c *Conn) ReadAck() (id string, err error) {
	r, err := c.value()
	if err != nil {
		return "", err
	}
	if r.Kind() == msgpack.Array {
		if isHello(r) {
			return "", ErrKeyRequired
		}
		return "", errors.New("server sent an array, not an acknowledgement")
	}
	pairs, err := r.MapLen()
	if err != nil {
		return "", fmt.Errorf("server sent no acknowledgement: %w", err)
	}
	for range pairs {
		key, err := r.Bytes()
		if err != nil {
			return "", fmt.Errorf("acknowledgement: %w", err)
		}
		if string(key) != "ack" {
			if err := r.Skip(); err != nil {
				return "", fmt.Errorf("acknowledgement: %w", err)
			}
			continue
		}
		if id, err = r.String(); err != nil {
			return "", fmt.Errorf("acknowledgement: %w", err)
		}
		return id, nil
	}
	return "", errors.New("server sent a map without an acknowledgement")
}

// Timeout reports whether err only means that a deadline has passed.
func Timeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

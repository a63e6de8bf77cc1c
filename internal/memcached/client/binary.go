package client

import (
	"bytes"
	"fmt"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// maxText bounds a binary reply without a value: the text of an error, a server's name, a
// setting.
const maxText = 2048

// binary encodes a command, and returns the opaque that its reply must repeat.
func (c *conn) binary(cmd *wire.Command) (opaque uint32, err error) {
	c.opaque++
	return c.opaque, c.out.Binary(cmd, c.opaque)
}

// binaryReply handles the head of a reply and starts reading its body into the right memory.
// binaryBody completes the call when the body is there.
func (c *conn) binaryReply(head []byte) error {
	frame := c.frame()
	r := &c.reply
	if !r.ParseBinary(head) {
		return garbled("a binary reply like %q", head[:min(len(head), 60)])
	}
	if len(frame) == 0 {
		return garbled("a binary reply with the opaque %d, which was not requested", r.Opaque)
	}
	x := frame[0]
	if err := matches(r, &x.cmd, x.opaque); err != nil {
		return err
	}
	c.receiver = nil
	into, limit := c.discarded, int64(maxText)
	if r.Kind == wire.Value {
		c.receiver = x
		into, limit = x.data, c.server.client.cfg.MaxValue
	}
	if r.Size > limit {
		return garbled("a value of %d bytes", r.Size)
	}
	if c.receiver != nil {
		x.setValue(r)
	}
	c.valuing = true
	c.in.BeginBody(into, int(r.Size))
	return nil
}

// matches returns an error unless a reply belongs to a command: it must be of the same kind
// and repeat the opaque and the key. Only a hit must have a key, which ParseBinary checks;
// that of a setting is its name.
func matches(r *wire.Reply, cmd *wire.Command, opaque uint32) error {
	keyed := len(r.Key) > 0 && r.Kind != wire.Stat
	switch {
	case r.Opaque != opaque:
		return garbled("a binary reply with the opaque %d, where it is the turn of %d", r.Opaque, opaque)
	case !r.Answers(cmd.Op):
		return garbled("a binary reply of another kind than the command with the opaque %d", opaque)
	case keyed && !bytes.Equal(r.Key, cmd.Key):
		return garbled("a binary reply for the key %.60q, which was not requested", r.Key)
	}
	return nil
}

// binaryBody ends a reply. text is its body if it has no value.
func (c *conn) binaryBody(words []byte) error {
	frame := c.due[c.next:c.last]
	r := &c.reply
	switch {
	case c.receiver != nil, r.Kind == wire.Miss:
		c.finish(frame)
		return nil
	case frame[0].cmd.Op != wire.Get:
		r.Text = words
		return c.changed(frame, r)
	case r.Kind >= wire.Error:
		r.Text = words
		return refused(r)
	}
	return garbled("a binary reply of kind %d to a get", r.Kind)
}

// binaryLogin logs in by SASL PLAIN: the authorisation identity, which is the user, then the
// user and the password.
func (c *conn) binaryLogin() error {
	a := c.server.client.cfg.Auth
	if a == nil {
		return nil
	}
	return c.binaryWants(wire.Done, &wire.Command{Op: wire.Login, Value: []byte("\x00" + a.User + "\x00" + a.Password)}, "the login")
}

// binaryProbe checks that the server answers. It returns its version even to clients that
// are not logged in.
func (c *conn) binaryProbe() error {
	return c.binaryWants(wire.NoOp, &wire.Command{Op: wire.Probe}, "the first question")
}

func (c *conn) binaryWants(kind wire.Kind, cmd *wire.Command, what string) error {
	switch err := c.binaryRoundTrip(cmd); {
	case err != nil:
		return fmt.Errorf("%s in the binary protocol: %w", what, err)
	case c.reply.Status != 0:
		return fmt.Errorf("%s in the binary protocol: %w", what, refused(&c.reply))
	case c.reply.Kind != kind:
		return garbled("%s is answered by a reply of kind %d", what, c.reply.Kind)
	}
	return nil
}

// binarySettings queries the size of the largest item. A server that hides its settings
// returns an error.
func (c *conn) binarySettings() error {
	cmd := &wire.Command{Op: wire.Settings}
	err := c.binaryRoundTrip(cmd)
	for ; err == nil && c.reply.Kind == wire.Stat; err = c.binaryRead(cmd) {
		c.setting(c.reply.Key, c.reply.Text)
	}
	return err
}

// binaryRoundTrip sends one command of the handshake and reads one reply.
func (c *conn) binaryRoundTrip(cmd *wire.Command) error {
	c.out.Reset()
	if _, err := c.binary(cmd); err != nil {
		return err
	}
	if _, err := c.nc.Write(c.out.Bytes()); err != nil {
		return err
	}
	return c.binaryRead(cmd)
}

// binaryRead reads one reply to the last command, with its text.
func (c *conn) binaryRead(cmd *wire.Command) error {
	r := &c.reply
	head, err := c.readUntil(c.in.Head)
	switch {
	case err != nil:
		return err
	case !r.ParseBinary(head):
		return garbled("a binary reply like %q", head[:min(len(head), 60)])
	case r.Size > maxText:
		return garbled("%d bytes of words", r.Size)
	}
	if err := matches(r, cmd, c.opaque); err != nil {
		return err
	}
	r.Key = bytes.Clone(r.Key) // reading may move it
	c.in.BeginBody(c.discarded, int(r.Size))
	r.Text, err = c.readUntil(func() ([]byte, error) {
		words, whole, err := c.in.Data()
		if whole && words == nil {
			words = []byte{}
		}
		return words, err
	})
	c.discarded = r.Text
	return err
}

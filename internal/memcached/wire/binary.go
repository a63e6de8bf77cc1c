package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// headSize is the length of the fixed head of a binary command and of its reply: magic,
// opcode, length of the key (2), length of the extras, kind of data, status (2; of a
// command: bucket), length of the body (4), opaque (4), CAS number (8). The body is extras,
// key and value.
const headSize = 24

// The first byte of a command and of a reply.
const (
	magicCommand = 0x80
	magicReply   = 0x81
)

// opcodes are the opcodes of commands; 0 for commands that the binary protocol lacks. A get
// is GETK, whose reply repeats the key.
var opcodes = [...]byte{
	Get: 0x0c, Add: 0x02, Set: 0x01, CAS: 0x01, Delete: 0x04,
	Probe: 0x0a, Version: 0x0b, Settings: 0x10, Login: 0x21,
}

// ErrCAS is returned for CAS with the number 0, which would be a Set in the binary protocol.
// No value has that number.
var ErrCAS = errors.New("memcached: no value has the CAS number 0")

// Binary adds a command of the binary protocol, whose reply repeats opaque. With an error
// nothing is added.
func (w *Writer) Binary(c *Command, opaque uint32) error {
	if int(c.Op) >= len(opcodes) || opcodes[c.Op] == 0 {
		return errOp
	}
	key, keyed := c.Key, false
	switch c.Op {
	case Probe, Version:
		key = nil
	case Settings:
		key = []byte("settings")
	case Login:
		key = []byte("PLAIN")
	default:
		keyed = true
	}
	if keyed && CheckKey(key) != nil {
		return ErrKey
	}
	if c.Op == CAS && c.CAS == 0 {
		return ErrCAS
	}
	w.frame(c, key, opaque)
	return nil
}

// frame adds the bytes of a command whose key is valid.
func (w *Writer) frame(c *Command, key []byte, opaque uint32) {
	stores := c.Op == Add || c.Op == Set || c.Op == CAS
	var value []byte
	if stores || c.Op == Login {
		value = c.Value
	}
	extras := 0
	if stores {
		extras = 8 // flags and expiry
	}
	var cas uint64
	if c.Op == CAS {
		cas = c.CAS
	}
	b := append(w.buf, magicCommand, opcodes[c.Op])
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, byte(extras), 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(extras+len(key)+len(value)))
	b = binary.BigEndian.AppendUint32(b, opaque)
	b = binary.BigEndian.AppendUint64(b, cas)
	if stores {
		b = binary.BigEndian.AppendUint32(b, c.Flags)
		b = binary.BigEndian.AppendUint32(b, expiry(c.Expires))
	}
	w.buf = append(append(b, key...), value...)
}

// expiry returns Command.Expires as an unsigned number of 32 bits.
func expiry(expires int64) uint32 {
	if expires < 0 {
		return 30*24*60*60 + 1 // a time in 1970: values above 30 days are absolute
	}
	return uint32(min(expires, math.MaxUint32))
}

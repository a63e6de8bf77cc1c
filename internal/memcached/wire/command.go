package wire

import (
	"errors"
	"strconv"
)

// Op is the operation of a command.
type Op uint8

const (
	// Get is `get` of text, which Writer.Get joins to lines of many keys.
	Get Op = iota
	// MetaGet is `mg` with key, flags, value, TTL and CAS in the reply.
	MetaGet
	// Add, Set and CAS store a value: if there is none, always, or if the present value has
	// the given CAS number.
	Add
	Set
	CAS
	// Delete removes the value.
	Delete
	// MarkStale is `md` with I and T: it keeps the value as a stale one whose refresh the
	// next reader wins. A CAS number other than 0 restricts it to the value with that
	// number.
	MarkStale
	// Probe is `mn`, which servers without the meta protocol reject.
	Probe
	// Version is answered by every server.
	Version
	// Settings is `stats settings`.
	Settings
	// Login is SASL PLAIN with Value, in the binary protocol only.
	Login
)

// Command is one command.
type Command struct {
	Op    Op
	Key   []byte
	Value []byte // of Add, Set, CAS and Login
	Flags uint32 // of Add, Set and CAS
	// Expires is the expiry in memcached's format, for Add, Set, CAS and MarkStale: 0 is
	// never, up to 30 days are seconds from now, more is a Unix time, negative is at once.
	Expires int64
	CAS     uint64 // of CAS and MarkStale
	Refresh int64  // of MetaGet: with fewer seconds left the reader is to refresh; 0: never
}

var errOp = errors.New("memcached: no such command")

// Writer collects commands for one write. The only untrusted bytes of a command are its key,
// which passes through Writer.key, or through Writer.Binary with the binary protocol: both
// call CheckKey. The zero value is ready for use.
type Writer struct {
	buf  []byte
	line int // number of keys in the open line of a text get; 0: none is open
}

// maxKeys bounds the keys of one line, so that no call waits long for the others' values.
const maxKeys = 64

// maxKept is the largest buffer that Reset keeps.
const maxKept = 64 << 10

// Reset removes the commands.
func (w *Writer) Reset() {
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	w.buf, w.line = w.buf[:0], 0
}

// Bytes returns the complete commands. They are valid until the next call.
func (w *Writer) Bytes() []byte {
	w.end()
	return w.buf
}

// Get adds key to the open line of a text get, or opens a line and returns true. All keys of
// a line are answered together. With an invalid key nothing is added.
func (w *Writer) Get(key []byte) (opens bool, err error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	if w.line == maxKeys {
		w.end()
	}
	if w.line == 0 {
		w.buf = append(w.buf, "get"...)
	}
	w.line++
	return w.line == 1, w.key(key)
}

// end closes the line of a text get.
func (w *Writer) end() {
	if w.line > 0 {
		w.buf = append(w.buf, '\r', '\n')
		w.line = 0
	}
}

// key adds a space and a valid key. No other function adds bytes of a key to a line.
func (w *Writer) key(key []byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	w.buf = append(append(w.buf, ' '), key...)
	return nil
}

// Command adds a command that has a reply of its own. With an error nothing is added.
func (w *Writer) Command(c *Command) error {
	w.end()
	start := len(w.buf)
	err := w.command(c)
	if err != nil {
		w.buf = w.buf[:start]
	}
	return err
}

func (w *Writer) command(c *Command) error {
	switch c.Op {
	case Get:
		w.buf = append(w.buf, "get"...)
		return w.closed(w.key(c.Key))
	case MetaGet:
		return w.metaGet(c)
	case Add, Set, CAS:
		return w.store(c)
	case Delete:
		w.buf = append(w.buf, "delete"...)
		return w.closed(w.key(c.Key))
	case MarkStale:
		return w.markStale(c)
	case Probe:
		w.buf = append(w.buf, "mn\r\n"...)
	case Version:
		w.buf = append(w.buf, "version\r\n"...)
	case Settings:
		w.buf = append(w.buf, "stats settings\r\n"...)
	default:
		return errOp
	}
	return nil
}

// closed ends a command's line unless there was an error.
func (w *Writer) closed(err error) error {
	w.buf = append(w.buf, '\r', '\n')
	return err
}

func (w *Writer) metaGet(c *Command) error {
	w.buf = append(w.buf, "mg"...)
	err := w.key(c.Key)
	w.buf = append(w.buf, " k f v t c"...)
	if c.Refresh > 0 {
		w.buf = strconv.AppendInt(append(w.buf, " R"...), c.Refresh, 10)
	}
	return w.closed(err)
}

// stores are the names of the storage commands in text, which every server and proxy
// supports.
var stores = [...]string{Add: "add", Set: "set", CAS: "cas"}

func (w *Writer) store(c *Command) error {
	w.buf = append(w.buf, stores[c.Op]...)
	err := w.key(c.Key)
	w.number(uint64(c.Flags))
	w.buf = strconv.AppendInt(append(w.buf, ' '), c.Expires, 10)
	w.number(uint64(len(c.Value)))
	if c.Op == CAS {
		w.number(c.CAS)
	}
	w.buf = append(w.buf, '\r', '\n')
	w.buf = append(w.buf, c.Value...)
	return w.closed(err)
}

func (w *Writer) markStale(c *Command) error {
	w.buf = append(w.buf, "md"...)
	err := w.key(c.Key)
	w.buf = strconv.AppendInt(append(w.buf, " I T"...), c.Expires, 10)
	if c.CAS != 0 {
		w.buf = strconv.AppendUint(append(w.buf, " C"...), c.CAS, 10)
	}
	return w.closed(err)
}

func (w *Writer) number(n uint64) { w.buf = strconv.AppendUint(append(w.buf, ' '), n, 10) }

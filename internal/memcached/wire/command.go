package wire

import (
	"errors"
	"strconv"
)

// Op is what a command does.
type Op uint8

const (
	// Get is `get` of text, which Writer.Get joins to lines of many keys.
	Get Op = iota
	// MetaGet is `mg` with key, flags, value, TTL and CAS in the reply.
	MetaGet
	// Add, Set and CAS store a value: if none is there, in any case, if the present one
	// has the CAS value told.
	Add
	Set
	CAS
	// Delete removes the value.
	Delete
	// MarkStale is `md` with I and T: the value stays as a stale one that the next reader
	// wins the right to refresh. With a CAS value other than 0 only if it is still that one.
	MarkStale
	// Probe is `mn`, which servers without the meta protocol do not know.
	Probe
	// Version asks what every server answers.
	Version
	// Settings is `stats settings`.
	Settings
	// Login is SASL's PLAIN with Value, which only the binary protocol has.
	Login
)

// Command is one command.
type Command struct {
	Op    Op
	Key   []byte
	Value []byte // of Add, Set, CAS and Login
	Flags uint32 // of Add, Set and CAS
	// Expires is the time as memcached has it, for Add, Set, CAS and MarkStale: 0 never,
	// up to 30 days seconds from now, above it a Unix time, negative at once.
	Expires int64
	CAS     uint64 // of CAS and MarkStale
	Refresh int64  // of MetaGet: with less than so many seconds left the reader is to refresh; 0 never
}

var errOp = errors.New("memcached: no such command")

// Writer collects commands for one write. Whatever reaches the bytes of a command
// from outside, which is the key, goes through Writer.key, or with the binary protocol
// through Writer.Binary: both ask CheckKey. The zero value is ready.
type Writer struct {
	buf  []byte
	line int // keys in the line of a text get that is still open; 0 none
}

// maxKeys bounds the keys of one line, so that one reply stays short enough for others
// not to wait for it.
const maxKeys = 64

// maxKept is the largest buffer that Reset keeps.
const maxKept = 64 << 10

// Reset forgets the commands.
func (w *Writer) Reset() {
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	w.buf, w.line = w.buf[:0], 0
}

// Bytes gives the commands, whole, until the next call.
func (w *Writer) Bytes() []byte {
	w.end()
	return w.buf
}

// Len is how many bytes have been collected.
func (w *Writer) Len() int { return len(w.buf) }

// Get adds key to the line of a text get that is open, or opens one and returns true:
// all keys of a line are answered together. With a bad key nothing is added.
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

// key adds a space and a key that keeps the rules. No other function adds bytes of a key
// to a line.
func (w *Writer) key(key []byte) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	w.buf = append(append(w.buf, ' '), key...)
	return nil
}

// Command adds a command of its own, with its reply. With an error nothing is added.
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

// closed ends a command's line unless err has spoilt it.
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

// stores are the commands' names. Text is what every server and every proxy takes.
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

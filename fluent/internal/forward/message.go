package forward

import (
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// Message is a batch of events of one tag.
type Message struct {
	Tag     string
	Entries []byte // concatenated arrays of time and record; read only
	Records int    // number of entries
	Chunk   string // requests an acknowledgement of that name; "" for none
}

// Write sends m with one system call if the connection supports it. m is not used after
// Write returns. After an error the connection must be closed: a part of m may have been
// sent.
func (c *Conn) Write(m *Message) error {
	if err := c.frame(m); err != nil {
		return err
	}
	var deadline time.Time
	if c.o.WriteTimeout > 0 {
		deadline = time.Now().Add(c.o.WriteTimeout)
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	c.vector = c.parts[:]
	if c.o.Single {
		c.vector = c.parts[:1] // on some connections an empty write is a message
	}
	_, err := c.vector.WriteTo(c.Conn)
	c.parts = [3][]byte{}
	if err != nil && Timeout(err) {
		return fmt.Errorf("server does not read: nothing written for %v: %w", c.o.WriteTimeout, err)
	}
	return err
}

// frame sets parts to the encoding of m.
func (c *Conn) frame(m *Message) (err error) {
	if c.o.Single {
		c.body, err = appendSingles(c.body[:0], m, c.o.Seconds)
		c.parts[0] = c.body
		return err
	}
	entries := m.Entries
	if c.o.Seconds {
		if c.whole, err = appendSeconds(c.whole[:0], entries); err != nil {
			return err
		}
		entries = c.whole
	}
	if c.o.Compression != NoCompression {
		if c.body, err = c.o.Compression.append(c.body[:0], entries); err != nil {
			return err
		}
		entries = c.body
	}
	c.head = msgpack.AppendArrayLen(c.head[:0], 3)
	c.head = msgpack.AppendString(c.head, m.Tag)
	c.head = msgpack.AppendBytesLen(c.head, len(entries))
	start := len(c.head)
	c.head = c.o.appendOption(c.head, m)
	c.parts = [3][]byte{c.head[:start], entries, c.head[start:]}
	return nil
}

// appendOption appends the last element of a packed message.
func (o *Options) appendOption(dst []byte, m *Message) []byte {
	n := 1
	if m.Chunk != "" {
		n++
	}
	if o.Compression != NoCompression {
		n++
	}
	dst = msgpack.AppendMapLen(dst, n)
	dst = msgpack.AppendString(dst, "size")
	dst = msgpack.AppendInt(dst, int64(m.Records))
	dst = appendChunk(dst, m.Chunk)
	if o.Compression != NoCompression {
		dst = msgpack.AppendString(dst, "compressed")
		dst = msgpack.AppendString(dst, o.Compression.name())
	}
	return dst
}

func appendChunk(dst []byte, chunk string) []byte {
	if chunk == "" {
		return dst
	}
	dst = msgpack.AppendString(dst, "chunk")
	return msgpack.AppendString(dst, chunk)
}

// AppendSingles appends m's events as separate messages, each an array of tag, time and
// record.
func AppendSingles(dst []byte, m *Message) ([]byte, error) { return appendSingles(dst, m, false) }

// appendSingles appends messages of one event. Only the last has an option: its
// acknowledgement means that all before it have arrived, because a server handles them in
// order.
func appendSingles(dst []byte, m *Message, seconds bool) ([]byte, error) {
	for rest := m.Entries; len(rest) > 0; {
		n, err := entryLen(rest)
		if err != nil {
			return dst, err
		}
		entry := rest[:n]
		rest = rest[n:]
		last := len(rest) == 0 && m.Chunk != ""
		elems := 3
		if last {
			elems = 4
		}
		dst = msgpack.AppendArrayLen(dst, elems)
		dst = msgpack.AppendString(dst, m.Tag)
		dst = appendEvent(dst, entry, seconds)
		if last {
			dst = msgpack.AppendMapLen(dst, 1)
			dst = appendChunk(dst, m.Chunk)
		}
	}
	return dst, nil
}

// appendSeconds appends entries with their times as integers.
func appendSeconds(dst, entries []byte) ([]byte, error) {
	for len(entries) > 0 {
		n, err := entryLen(entries)
		if err != nil {
			return dst, err
		}
		dst = append(dst, entryHead)
		dst = appendEvent(dst, entries[:n], true)
		entries = entries[n:]
	}
	return dst, nil
}

// entryHead is the first byte of each entry: an array of two.
const entryHead = 0x92

func entryLen(b []byte) (int, error) {
	if b[0] != entryHead {
		return 0, errors.New("entries are damaged")
	}
	n, err := msgpack.Skip(b)
	if err != nil {
		return 0, fmt.Errorf("entries are damaged: %w", err)
	}
	return n, nil
}

// appendEvent appends an entry's time and record without the head.
func appendEvent(dst, entry []byte, seconds bool) []byte {
	const fixext8, uint32Code = 0xd7, 0xce
	if seconds && entry[1] == fixext8 && entry[2] == 0 {
		dst = append(dst, uint32Code)
		dst = append(dst, entry[3:7]...)
		return append(dst, entry[11:]...)
	}
	return append(dst, entry[1:]...)
}

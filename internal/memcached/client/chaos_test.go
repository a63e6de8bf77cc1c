package client

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync/atomic"
)

// chaos makes a fake server misbehave. Nil does nothing.
type chaos struct {
	pieces  bool         // reads and writes are short
	mixed   bool         // values of one line are sent in another order, some twice
	oneIn   atomic.Int64 // every oneIn-th reply is corrupted; 0: none
	replies atomic.Int64
	counts  [binaryCorruptions]atomic.Int64
}

// The numbers of ways to corrupt a reply. The ones from textCorruptions on are for the binary
// protocol only.
const (
	textCorruptions   = 9
	binaryCorruptions = 12
)

// corruptions returns the number of ways in which the fake corrupts replies.
func (f *fake) corruptions() int {
	if f.binary {
		return binaryCorruptions
	}
	return textCorruptions
}

// maybeCorrupt corrupts the reply in the session's buffer from an offset on, if it is its
// turn, in each way in turn. false ends the connection.
func (c *chaos) maybeCorrupt(s *session, from int) bool {
	if c == nil {
		return true
	}
	n := c.oneIn.Load()
	if n == 0 || c.replies.Add(1)%n != 0 {
		return true
	}
	how := int(c.replies.Load()/n) % s.corruptions()
	c.counts[how].Add(1)
	reply := bytes.Clone(s.out.Bytes()[from:])
	s.out.Truncate(from)
	if s.binary {
		return c.corruptBinary(s, how, reply)
	}
	return c.corrupt(s, how, reply)
}

func (c *chaos) corrupt(s *session, how int, reply []byte) bool {
	switch how {
	case 0: // the connection ends without a reply
		s.flush()
		return false
	case 1: // the connection ends within the reply
		s.out.Write(reply[:s.random.IntN(len(reply))])
		s.flush()
		return false
	case 2: // a byte is missing
		i := s.random.IntN(len(reply))
		s.out.Write(append(reply[:i:i], reply[i+1:]...))
	case 3: // a byte is added
		i := s.random.IntN(len(reply))
		s.out.Write(append(append(reply[:i:i], 'x'), reply[i:]...))
	case 4: // the reply is sent twice
		s.out.Write(reply)
		s.out.Write(reply)
	case 5: // it is not sent
	case 6: // another key's value is sent
		s.out.WriteString("VALUE other 0 5\r\nother\r\n")
		s.out.Write(reply)
	case 7: // an error is sent instead
		s.out.WriteString("SERVER_ERROR out of memory\r\n")
	case 8: // the CRLF before the end is damaged
		if i := bytes.LastIndex(reply[:len(reply)-1], []byte("\r\n")); i >= 0 {
			reply[i] = ' '
		}
		s.out.Write(reply)
	}
	return true
}

// corruptBinary is corrupt for the binary protocol. Bytes are lost and added only within the
// head and the key: values have no terminator, so a short one would be detected only in the
// next reply.
func (c *chaos) corruptBinary(s *session, how int, reply []byte) bool {
	size := 24 + int(reply[4]) + int(binary.BigEndian.Uint16(reply[2:]))
	switch how {
	case 2: // a byte is missing
		i := s.random.IntN(size)
		s.out.Write(append(reply[:i:i], reply[i+1:]...))
	case 3: // a byte is added
		i := s.random.IntN(size)
		s.out.Write(append(append(reply[:i:i], 'x'), reply[i:]...))
	case 6: // another key's value is sent
		s.out.Write(replaced(reply, 0, "other", "other"))
		s.out.Write(reply)
	case 7: // an error is sent instead
		s.out.Write(replaced(reply, noMemory, "", words[noMemory]))
	case 8: // it is the reply to another command
		reply[12+s.random.IntN(4)]++
		s.out.Write(reply)
	case 9: // it is sent after the next one
		s.delayed = reply
	case 10: // its length exceeds all limits
		binary.BigEndian.PutUint32(reply[8:], 1<<32-1)
		s.out.Write(reply)
	case 11: // it is the reply to a command of another kind
		reply[1] = opSet
		s.out.Write(reply)
	default:
		return c.corrupt(s, how, reply)
	}
	return true
}

// replaced returns another reply to the same command.
func replaced(b []byte, status uint16, key, value string) []byte {
	var flags []byte
	if status == 0 {
		flags = make([]byte, 4)
	}
	return reply(b[1], status, binary.BigEndian.Uint32(b[12:]), 1, flags, key, value)
}

// order returns the values of one line in the order in which they are sent.
func (c *chaos) order(s *session, values []string) []string {
	if c != nil && c.mixed && len(values) > 1 {
		s.random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		if s.random.IntN(2) == 0 {
			values = append(values, values[0])
		}
	}
	return values
}

// write writes b, in pieces.
func (c *chaos) write(w io.Writer, b []byte, r *rand.Rand) bool {
	for c != nil && c.pieces && len(b) > 1 {
		n := 1 + r.IntN(len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
	}
	_, err := w.Write(b)
	return err == nil
}

// short returns a reader whose reads are short.
func (c *chaos) short(nc io.Reader, r *rand.Rand) io.Reader {
	if c == nil || !c.pieces {
		return nc
	}
	return &shortReader{nc, r}
}

type shortReader struct {
	io.Reader
	random *rand.Rand
}

func (s *shortReader) Read(b []byte) (int, error) {
	return s.Reader.Read(b[:1+s.random.IntN(min(len(b), 300))])
}

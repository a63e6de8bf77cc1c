package edge

import "github.com/kasoku/kasoku/internal/http1"

// The phases of a message that a connection reads.
const (
	inHead   = iota // the head is incomplete
	inPlace         // the body arrives behind the head in buf
	inData          // the body has an announced length and arrives in data
	inChunks        // chunks arrive in buf and are decoded into data
	inStream        // the handler reads the body; buf is unread from pos on
)

// input holds the bytes that a connection has read. Bytes from off to have in buf belong to
// the current message and those after it. Its head, once complete, is the first head bytes
// of them, and does not move, because the Request consists of slices of it.
type input struct {
	buf       []byte
	off, have int
	head      int
	phase     uint8
	armed     bool   // the deadline of this phase is set
	data      []byte // a body that is not in buf
	length    int    // announced
	counted   int    // bytes of data's memory that are counted in the budget
	wire      int    // bytes of a chunked or streamed body with its framing
	pos       int
	chunks    http1.Chunked
}

// space returns the memory for the next bytes, which is not empty.
func (in *input) space() []byte {
	switch in.phase {
	case inHead:
		in.room(1)
	case inData:
		if len(in.data) == cap(in.data) {
			in.growData()
		}
		return in.data[len(in.data):min(cap(in.data), in.length)]
	}
	return in.buf[in.have:]
}

// stream prepares for another reader of the body of the head just parsed.
func (in *input) stream() {
	in.phase, in.armed = inStream, false
	in.wire, in.pos = 0, in.off+in.head
}

// rewind frees the space behind the head when all of it was read.
func (in *input) rewind() {
	in.pos = in.off + in.head
	in.have = in.pos
}

// room makes space for n more bytes behind have, by moving the message to the front or to a
// larger buffer. Slices of the head are invalid afterwards.
func (in *input) room(n int) {
	if len(in.buf)-in.have >= n {
		return
	}
	buf := in.buf
	if in.off < len(buf)/2 {
		buf = make([]byte, max(2*len(buf), in.have-in.off+n))
	}
	in.have = copy(buf, in.buf[in.off:in.have])
	in.buf, in.off = buf, 0
}

// growData makes room for more of the announced length.
func (in *input) growData() { in.data = grow(in.data, in.length) }

// grow copies b into twice the space, at most that for limit bytes: memory is used for
// received bytes and not for announced ones.
func grow(b []byte, limit int) []byte {
	c := make([]byte, len(b), min(limit, max(2*cap(b), inSize)))
	copy(c, b)
	return c
}

// advance counts n bytes read into space.
func (in *input) advance(n int) {
	if in.phase == inData {
		in.data = in.data[:len(in.data)+n]
		return
	}
	in.have += n
}

// partial reports whether a message has begun that is incomplete.
func (in *input) partial() bool { return in.have > in.off }

// openBody chooses where the body of the head just parsed is read.
func (in *input) openBody(r *http1.Request, limit int) {
	in.armed = false
	in.length = int(r.ContentLength)
	body := in.off + in.head
	switch {
	case r.Chunked:
		in.phase, in.wire, in.data = inChunks, 0, in.data[:0]
		in.chunks.Reset(int64(limit))
	case in.length <= len(in.buf)-body:
		in.phase = inPlace
	default:
		in.phase = inData
		if cap(in.data) == 0 {
			in.data = make([]byte, 0, min(in.length, max(inSize, 2*(in.have-body))))
		}
		for cap(in.data) < in.have-body {
			in.growData()
		}
		in.data = append(in.data[:0], in.buf[body:in.have]...)
		in.have = body
	}
}

// body returns the body if it is complete.
func (in *input) body() (b []byte, whole bool, err error) {
	start := in.off + in.head
	switch in.phase {
	case inPlace:
		end := start + in.length
		if in.have < end {
			return nil, false, nil
		}
		return in.buf[start:end:end], true, nil
	case inData:
		return in.data, len(in.data) == in.length, nil
	default:
		return in.decode(start)
	}
}

// decode decodes the chunks that have arrived. Their space is reused until the body is
// complete; the rest belongs to the next message.
func (in *input) decode(start int) (b []byte, whole bool, err error) {
	var n int
	in.data, n, whole, err = in.chunks.Decode(in.data, in.buf[start:in.have])
	in.wire += n
	in.have = start + copy(in.buf[start:], in.buf[start+n:in.have])
	return in.data, whole, err
}

// size returns the number of bytes of the message.
func (in *input) size() int {
	switch in.phase {
	case inHead:
		return in.have - in.off
	case inChunks, inStream:
		return in.head + in.wire
	}
	return in.head + in.length
}

// hasMore reports whether bytes behind the message, which is answered, have arrived.
func (in *input) hasMore() bool {
	if in.phase == inStream {
		return in.pos < in.have
	}
	return in.size() < in.have-in.off
}

// next skips the message, which is complete.
func (in *input) next() {
	switch in.phase {
	case inPlace:
		in.off += in.head + in.length
	case inStream:
		in.off = in.pos
	default:
		in.off += in.head
	}
	in.phase, in.armed, in.head, in.length = inHead, false, 0, 0
	if in.off == in.have {
		in.off, in.have = 0, 0
	}
}

// release clears the input and keeps buffers of an ordinary size.
func (in *input) release() {
	in.off, in.have, in.head, in.length = 0, 0, 0, 0
	in.phase, in.armed = inHead, false
	if in.buf = in.buf[:cap(in.buf)]; len(in.buf) > keepMax {
		in.buf = make([]byte, inSize)
	}
	if cap(in.data) > keepMax {
		in.data = nil
	}
}

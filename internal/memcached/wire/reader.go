package wire

import (
	"bytes"
	"errors"
)

// ErrGarbled is returned for bytes that are not a reply: the connection is unusable.
var ErrGarbled = errors.New("memcached: garbled reply")

// maxLine bounds a line of a reply, including CRLF: a key and some numbers, or the text of
// an error.
const maxLine = 2048

// minDirect is the number of missing bytes from which a value is read directly into its own
// memory, bypassing the buffer.
const minDirect = 4 << 10

// Reader parses a stream of replies that arrives in arbitrary pieces. Its owner reads into
// Room and reports the number of bytes to Filled. It then calls Line, or Head for a binary
// reply, or after Begin or BeginBody Data, until there is no more.
type Reader struct {
	buf  []byte
	r, w int // buf[r:w] was received and not consumed

	into    []byte // the received part of the current value, in its own memory
	missing int    // number of missing bytes of the value, without CRLF
	bare    bool   // no CRLF follows it
}

// NewReader returns a reader with a buffer of size bytes, which must be at least 4096.
func NewReader(size int) *Reader { return &Reader{buf: make([]byte, max(size, 2*maxLine))} }

// Room returns the buffer for the next bytes of the stream. It is never empty.
func (d *Reader) Room() []byte {
	if d.r == d.w {
		d.r, d.w = 0, 0
		if d.missing >= minDirect {
			return d.into[len(d.into) : len(d.into)+d.missing]
		}
	}
	if d.w == len(d.buf) {
		d.w = copy(d.buf, d.buf[d.r:d.w])
		d.r = 0
	}
	return d.buf[d.w:]
}

// Filled reports that n bytes were read into Room.
func (d *Reader) Filled(n int) {
	if d.w == 0 && d.missing >= minDirect {
		d.into = d.into[:len(d.into)+n]
		d.missing -= n
		return
	}
	d.w += n
}

// Buffered returns the number of received bytes that are not consumed.
func (d *Reader) Buffered() int { return d.w - d.r }

// Line returns the next line without its CRLF, or nil without an error if it is not
// complete. It is valid until Room.
func (d *Reader) Line() ([]byte, error) {
	have := d.buf[d.r:d.w]
	i := bytes.IndexByte(have[:min(len(have), maxLine)], '\n')
	switch {
	case i > 0 && have[i-1] == '\r':
		d.r += i + 1
		return have[:i-1], nil
	case i >= 0 || len(have) >= maxLine:
		return nil, ErrGarbled
	}
	return nil, nil
}

// Begin starts a value of size bytes, which is read into the memory of dst, or into new
// memory if that is too small.
func (d *Reader) Begin(dst []byte, size int) {
	if cap(dst) < size {
		dst = make([]byte, 0, size)
	}
	d.into, d.missing, d.bare = dst[:0], size, false
}

// Data reads the received part of the value. whole reports that the value is complete,
// including its CRLF unless it was started by BeginBody.
func (d *Reader) Data() (value []byte, whole bool, err error) {
	n := min(d.missing, d.w-d.r)
	d.into = append(d.into, d.buf[d.r:d.r+n]...)
	d.r += n
	d.missing -= n
	if !d.bare {
		if d.missing > 0 || d.w-d.r < 2 {
			return nil, false, d.trailer()
		}
		if err := d.trailer(); err != nil {
			return nil, false, err
		}
		d.r += 2
	} else if d.missing > 0 {
		return nil, false, nil
	}
	value, d.into = d.into, nil
	return value, true, nil
}

// trailer checks the received part of the CRLF after the value.
func (d *Reader) trailer() error {
	have := d.buf[d.r:d.w]
	if d.missing > 0 || len(have) == 0 || have[0] == '\r' && (len(have) == 1 || have[1] == '\n') {
		return nil
	}
	return ErrGarbled
}

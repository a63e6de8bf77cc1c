package wire

import (
	"bytes"
	"errors"
)

// ErrGarbled says that what came is not a reply: the connection is of no more use.
var ErrGarbled = errors.New("memcached: garbled reply")

// maxLine bounds a reply's line, CRLF included: a key and some numbers, or the words of
// an error.
const maxLine = 2048

// minDirect is how much of a value must be missing for it to be read into its own place
// and not through the buffer.
const minDirect = 4 << 10

// Reader takes a stream of replies apart, however it is cut into pieces. Its owner
// reads into Room, tells with Filled how much came, and then asks for a Line, or the Head
// of a binary reply, or, after Begin or BeginBody, for the Data until there is no more.
type Reader struct {
	buf  []byte
	r, w int // buf[r:w] is what has come and is not taken

	into    []byte // the value under way: what has come of it, in its own memory
	missing int    // bytes of it that have not come; CRLF is not counted
	bare    bool   // no CRLF follows it
}

// NewReader returns a reader with a buffer of size bytes, which must be at least 4096.
func NewReader(size int) *Reader { return &Reader{buf: make([]byte, max(size, 2*maxLine))} }

// Room is where the next bytes of the stream go; it is never empty.
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

// Filled says that n bytes were put into Room.
func (d *Reader) Filled(n int) {
	if d.w == 0 && d.missing >= minDirect {
		d.into = d.into[:len(d.into)+n]
		d.missing -= n
		return
	}
	d.w += n
}

// Buffered is how many bytes have come and are not taken.
func (d *Reader) Buffered() int { return d.w - d.r }

// Line takes a line. It returns nil without an error when it has not come whole. The
// line is without CRLF and good until Room.
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

// Begin says that a value of size bytes comes next, which is to be put into the memory
// of dst, or into new memory if that is too small.
func (d *Reader) Begin(dst []byte, size int) {
	if cap(dst) < size {
		dst = make([]byte, 0, size)
	}
	d.into, d.missing, d.bare = dst[:0], size, false
}

// Data takes what has come of the value. It returns true when it is whole, with its
// CRLF unless it began with BeginBody.
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

// trailer checks as much of the CRLF after the value as has come.
func (d *Reader) trailer() error {
	have := d.buf[d.r:d.w]
	if d.missing > 0 || len(have) == 0 || have[0] == '\r' && (len(have) == 1 || have[1] == '\n') {
		return nil
	}
	return ErrGarbled
}

package http1

import (
	"bytes"
	"math"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Bounds on the bytes of a chunked body besides data.
const (
	maxChunkDigits = 16      // of a size, leading zeros included
	maxChunkExt    = 4 << 10 // bytes of extensions in a whole body
	maxTrailer     = 8 << 10 // bytes of all trailer fields
)

var (
	errChunkSize = &Error{400, "malformed chunk size"}
	errChunkExt  = &Error{400, "malformed or oversized chunk extension"}
	errChunkEnd  = &Error{400, "chunk data not followed by CRLF"}
	errTrailer   = &Error{431, "trailer too large"}

	// ErrTooLarge is returned for a body over its limit.
	ErrTooLarge = &Error{413, "body too large"}
)

// Where a Chunked decoder is.
const (
	atSize    = iota // in the digits of a size
	atExt            // in an extension
	atSizeLF         // at the LF that ends a size
	atData           // in the data
	atDataCR         // at the CR after the data
	atDataLF         // at its LF
	atTrailer        // at or in a line of the trailer
	atEnd            // behind the body
)

// Chunked decodes one chunked body as its bytes arrive. Set Max and pass the bytes to
// Decode; Reset prepares for the next body.
type Chunked struct {
	// Max is how many bytes of data are taken; over it Decode fails with
	// ErrTooLarge as soon as the size is announced.
	Max int64

	state   uint8
	digits  uint8
	left    int64 // of the chunk, or its size while that is read
	total   int64
	ext     int
	trailer int
	line    []byte // the trailer line that has not ended
	fields  Fields // of the trailer, in memory of their own
}

// Reset makes c ready for a body of at most limit bytes.
func (c *Chunked) Reset(limit int64) { *c = Chunked{Max: limit, line: c.line[:0]} }

// Decode decodes bytes at the front of src. It appends the data among them to dst and
// returns n, the number of bytes it has decoded. At the end of the body done is true and the
// rest of src belongs to the next message. The appended data is never longer than the n
// bytes, so dst may be src[:0]. Every error is an *Error.
func (c *Chunked) Decode(dst, src []byte) (out []byte, n int, done bool, err error) {
	for n < len(src) && c.state != atEnd {
		switch c.state {
		case atData:
			k := int(min(c.left, int64(len(src)-n)))
			dst = append(dst, src[n:n+k]...)
			n += k
			if c.left -= int64(k); c.left == 0 {
				c.state = atDataCR
			}
		case atTrailer:
			k, err := c.trail(src[n:])
			n += k
			if err != nil {
				return dst, n, false, err
			}
		default:
			if err := c.framing(src[n]); err != nil {
				return dst, n, false, err
			}
			n++
		}
	}
	return dst, n, c.state == atEnd, nil
}

// framing handles one byte between the data.
func (c *Chunked) framing(b byte) error {
	switch c.state {
	case atSize:
		return c.size(b)
	case atExt:
		if b == '\r' {
			c.state = atSizeLF
			return nil
		}
		if c.ext++; c.ext > maxChunkExt || b < ' ' && b != '\t' || b == 0x7f {
			return errChunkExt
		}
	case atSizeLF:
		if b != '\n' {
			return errChunkSize
		}
		if c.state = atData; c.left == 0 {
			c.state = atTrailer
		}
		c.digits = 0
	case atDataCR:
		if b != '\r' {
			return errChunkEnd
		}
		c.state = atDataLF
	case atDataLF:
		if b != '\n' {
			return errChunkEnd
		}
		c.state = atSize
	}
	return nil
}

// size parses one byte of a chunk's size line before any extension.
func (c *Chunked) size(b byte) error {
	if digit, ok := ascii.HexDigit(b); ok {
		if c.digits++; c.digits > maxChunkDigits || c.left > math.MaxInt64>>4 {
			return errChunkSize
		}
		c.left = c.left<<4 | int64(digit)
		return nil
	}
	if c.digits == 0 {
		return errChunkSize
	}
	switch b {
	case '\r':
		c.state = atSizeLF
	case ';':
		c.state = atExt
	default:
		return errChunkSize
	}
	if c.left > c.Max-c.total {
		return ErrTooLarge
	}
	c.total += c.left
	return nil
}

// trail parses bytes of the trailer up to the end of a line.
func (c *Chunked) trail(src []byte) (int, error) {
	k := bytes.IndexByte(src, '\n') + 1
	if k == 0 {
		k = len(src)
	}
	if c.trailer += k; c.trailer > maxTrailer {
		return 0, errTrailer
	}
	line := src[:k]
	if len(c.line) > 0 || line[k-1] != '\n' {
		c.line = append(c.line, line...)
		line = c.line
	}
	if line[len(line)-1] != '\n' {
		return k, nil
	}
	c.line = c.line[:0]
	if len(line) == 2 && line[0] == '\r' {
		c.state = atEnd
		return k, nil
	}
	f, err := parseField(line)
	if err == nil && InTrailer(f.Name) {
		c.fields = append(c.fields, Fields{f}.Clone()...)
	}
	return k, err
}

// Trailer returns the permitted fields after the body, in memory of their own. It is
// complete once Decode has returned done.
func (c *Chunked) Trailer() Fields { return c.fields }

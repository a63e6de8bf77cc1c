// Package ion translates the Amazon Ion text of DynamoDB's exports into DynamoDB's JSON.
//
// It reads the part of Ion that such files consist of: structs, lists, strings, symbols as
// names, booleans, decimals, integers, floats, blobs, nulls, comments, and lists with the
// annotations of DynamoDB's sets. Other values (timestamps, clobs, symbols, S-expressions)
// and local symbol tables are refused, because an item has no type for them.
package ion

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	// maxRecord is the maximum length of a record in bytes. An item has at most 400 KB, and a
	// record of an incremental export has two of them.
	maxRecord = 8 << 20
	// maxDepth is the maximum nesting of values. DynamoDB allows 32 levels, which its own
	// check reports better.
	maxDepth = 64
)

// Error is a mistake in the text.
type Error struct {
	Line    int // from 1
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Reader reads records one after the other.
type Reader struct {
	in     *bufio.Reader
	line   int
	used   int  // bytes of the current record
	listed bool // the records are elements of a list
	text   []byte
}

// NewReader returns a reader of uncompressed text.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), line: 1}
}

// failure carries an error to Next.
type failure struct{ error }

func (r *Reader) fail(format string, args ...any) {
	panic(failure{&Error{r.line, fmt.Sprintf(format, args...)}})
}

// eof is the byte after the last one.
const eof = -1

// peek returns the next byte, or eof.
func (r *Reader) peek() int {
	b, err := r.in.Peek(1)
	switch {
	case err == nil:
		return int(b[0])
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return eof
	}
	panic(failure{err})
}

// ahead reports whether text follows.
func (r *Reader) ahead(text string) bool {
	b, _ := r.in.Peek(len(text))
	return string(b) == text
}

// next reads a byte, or eof.
func (r *Reader) next() int {
	c := r.peek()
	if c == eof {
		return eof
	}
	r.in.Discard(1) // peek has it
	if c == '\n' {
		r.line++
	}
	if r.used++; r.used > maxRecord {
		r.fail("a record has more than %d bytes", maxRecord)
	}
	return c
}

func (r *Reader) expect(c byte) {
	if r.peek() != int(c) {
		r.fail("expected %q", c)
	}
	r.next()
}

// space skips white space and comments.
func (r *Reader) space() {
	for {
		switch c := r.peek(); {
		case c == ' ' || c >= '\t' && c <= '\r':
			r.next()
		case c == '/' && r.ahead("//"):
			for c := r.peek(); c != '\n' && c != eof; c = r.peek() {
				r.next()
			}
		case c == '/' && r.ahead("/*"):
			r.comment()
		default:
			return
		}
	}
}

func (r *Reader) comment() {
	r.next()
	r.next()
	for !r.ahead("*/") {
		if r.next() == eof {
			r.fail("a comment has no end")
		}
	}
	r.next()
	r.next()
}

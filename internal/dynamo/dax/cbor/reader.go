package cbor

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Error describes malformed or unexpected CBOR.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// Reader decodes a complete message, item by item. After the first error it returns zero
// values and no more items, so checking Err once after a sequence of reads is enough. It is
// a value and may be copied to look ahead.
type Reader struct {
	b   []byte // unread bytes
	err *Error
}

// NewReader returns a reader of the items in b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err returns the first error, an *Error, or nil.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Fail sets the reader's error, unless it already has one.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = &Error{fmt.Sprintf(format, args...)}
	}
	r.b = nil
}

// Rest returns the unread bytes.
func (r *Reader) Rest() []byte { return r.b }

// Done reports whether everything has been read without an error.
func (r *Reader) Done() bool { return r.err == nil && len(r.b) == 0 }

// Close returns the first error. Unread bytes are an error.
func (r *Reader) Close() error {
	if len(r.b) > 0 {
		r.Fail("%d bytes behind the end", len(r.b))
	}
	return r.Err()
}

// Kind returns the kind of the next item.
func (r *Reader) Kind() Kind {
	if len(r.b) == 0 {
		return End
	}
	return kindOf(r.b[0])
}

// next reads the head of an item of one of two kinds, which may be equal.
func (r *Reader) next(want, or Kind) head {
	h := readHead(r.b)
	switch {
	case r.err != nil:
		return head{}
	case h.kind != want && h.kind != or:
		r.Fail("%s where %s is expected", h.kind, want)
		return head{}
	case h.size == 0:
		r.Fail("the message ends within an item")
		return head{}
	}
	r.b = r.b[h.size:]
	return h
}

// Uint reads an integer. Its value is magnitude, or -1-magnitude if negative.
func (r *Reader) Uint() (magnitude uint64, negative bool) {
	h := r.next(Uint, Negative)
	return h.arg, h.kind == Negative
}

// Int reads an integer that fits in 64 bits.
func (r *Reader) Int() int64 {
	h := r.next(Uint, Negative)
	if h.arg > math.MaxInt64 {
		r.Fail("an integer is out of range")
		return 0
	}
	if h.kind == Negative {
		return -1 - int64(h.arg)
	}
	return int64(h.arg)
}

// Bytes reads a byte string.
func (r *Reader) Bytes() []byte { return r.content(r.next(Bytes, Bytes)) }

// Text reads a text, which must be UTF-8.
func (r *Reader) Text() []byte { return r.text(r.next(Text, Text)) }

// String reads a byte string or a text, which must be UTF-8 in either case.
func (r *Reader) String() []byte { return r.text(r.next(Text, Bytes)) }

// text is content for a string that must be UTF-8.
func (r *Reader) text(h head) []byte {
	s := r.content(h)
	if !utf8.Valid(s) {
		r.Fail("a text is not UTF-8")
		return nil
	}
	return s
}

// content reads the content of a string after its head.
func (r *Reader) content(h head) []byte {
	if h.arg > uint64(len(r.b)) {
		r.Fail("the message ends within a string")
		return nil
	}
	s := r.b[:h.arg:h.arg]
	r.b = r.b[h.arg:]
	return s
}

// Array begins an array. It returns the number of items, which is never larger than the
// number of unread bytes, or -1 for indefinite length. More handles both cases.
func (r *Reader) Array() int { return r.count(r.next(Array, Array), 1) }

// Map begins a map. It returns the number of pairs, or -1 like Array.
func (r *Reader) Map() int { return r.count(r.next(Map, Map), 2) }

func (r *Reader) count(h head, each uint64) int {
	if h.open {
		return -1
	}
	if h.arg > uint64(len(r.b))/each {
		r.Fail("the message ends within an array or a map")
		return 0
	}
	return int(h.arg)
}

// More reports whether another item, or pair, of an array or map follows. It decrements n,
// which Array or Map has returned, and consumes the Break:
//
//	n := r.Array()
//	for r.More(&n) {
//		... read one item
//	}
func (r *Reader) More(n *int) bool {
	switch {
	case r.err != nil || *n == 0:
		return false
	case *n > 0:
		*n--
		return true
	case r.Break():
		return false
	case len(r.b) == 0:
		r.Fail("the message ends within an array or a map")
		return false
	}
	return true
}

// Break consumes the end of an array or map of indefinite length, if it is next.
func (r *Reader) Break() bool { return r.take(byteBreak) }

// Null consumes a null, if it is next.
func (r *Reader) Null() bool { return r.take(byteNull) }

func (r *Reader) take(first byte) bool {
	if r.err != nil || len(r.b) == 0 || r.b[0] != first {
		return false
	}
	r.b = r.b[1:]
	return true
}

// Tag reads the tag before an item.
func (r *Reader) Tag() uint64 { return r.next(Tag, Tag).arg }

// Bool reads true or false.
func (r *Reader) Bool() bool { return r.next(True, False).kind == True }

// Double reads a double.
func (r *Reader) Double() float64 { return math.Float64frombits(r.next(Double, Double).arg) }

// Skip skips one item.
func (r *Reader) Skip() { r.Raw() }

// Raw returns the encoding of one item.
func (r *Reader) Raw() []byte {
	if r.err != nil {
		return nil
	}
	var s Scanner
	s.Begin(1)
	end, whole, err := s.Scan(r.b)
	switch {
	case err != nil:
		r.Fail("%s", err.(*Error).text)
		return nil
	case !whole:
		r.Fail("the message ends within an item")
		return nil
	}
	raw := r.b[:end:end]
	r.b = r.b[end:]
	return raw
}

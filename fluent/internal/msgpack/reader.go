package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Reader reads the values of a slice one after the other. A method that returns an error
// does not move the reader, so that another can be tried. The zero Reader is empty.
type Reader struct {
	b   []byte
	pos int
}

// NewReader returns a Reader of b, which must not change while it is in use.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Rest returns the unread bytes, which still belong to the reader.
func (r *Reader) Rest() []byte { return r.b[r.pos:] }

// Kind returns the kind of the next value; Invalid if there is none or only a part.
func (r *Reader) Kind() Kind {
	h, err := readHead(r.Rest())
	if err != nil {
		return Invalid
	}
	return h.kind
}

// next returns the next value's head and payload and moves past both if the value is of the
// requested kind.
func (r *Reader) next(want Kind) (head, []byte, error) {
	b := r.Rest()
	h, err := readHead(b)
	if err != nil {
		return h, nil, err
	}
	if h.kind != want {
		return h, nil, r.mismatch(want, h)
	}
	end := h.start + h.size
	r.pos += end
	return h, b[h.start:end:end], nil
}

// mismatch is separate from next, which would be slower with it.
func (r *Reader) mismatch(want Kind, found head) error {
	return fmt.Errorf("msgpack: found %v at byte %d where %v was expected", found.kind, r.pos, want)
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	h, _, err := r.next(Bool)
	return h.code == codeTrue, err
}

// Bytes reads a string or binary data: servers send either for the same field. The result is
// a part of the reader's slice, without spare capacity.
func (r *Reader) Bytes() ([]byte, error) {
	if r.Kind() == Binary {
		_, p, err := r.next(Binary)
		return p, err
	}
	_, p, err := r.next(String)
	return p, err
}

// String reads a string or binary data, like Bytes, as a new string.
func (r *Reader) String() (string, error) {
	p, err := r.Bytes()
	return string(p), err
}

// Int reads an integer. One above 1<<63-1 is an error.
func (r *Reader) Int() (int64, error) {
	start := r.pos
	v, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	if !negative && v > math.MaxInt64 {
		r.pos = start
		return 0, fmt.Errorf("msgpack: integer %d at byte %d is out of range", v, start)
	}
	return int64(v), nil
}

// Uint reads an integer. A negative one is an error.
func (r *Reader) Uint() (uint64, error) {
	start := r.pos
	v, negative, err := r.integer()
	if err != nil {
		return 0, err
	}
	if negative {
		r.pos = start
		return 0, fmt.Errorf("msgpack: integer %d at byte %d is out of range", int64(v), start)
	}
	return v, nil
}

// integer reads an integer of any form: its 64 bits in two's complement, and whether they
// represent a negative number.
func (r *Reader) integer() (v uint64, negative bool, err error) {
	h, p, err := r.next(Int)
	if err != nil {
		return 0, false, err
	}
	if len(p) == 0 { // the code is the number
		p = []byte{h.code}
	}
	for _, c := range p {
		v = v<<8 | uint64(c)
	}
	if h.code >= codeUint8 && h.code <= codeUint64 {
		return v, false, nil
	}
	unused := 64 - 8*len(p)
	i := int64(v<<unused) >> unused // extends the sign
	return uint64(i), i < 0, nil
}

// Float reads a floating-point number; single reports whether it has single precision.
func (r *Reader) Float() (v float64, single bool, err error) {
	h, p, err := r.next(Float)
	switch {
	case err != nil:
		return 0, false, err
	case h.code == codeFloat32:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(p))), true, nil
	}
	return math.Float64frombits(binary.BigEndian.Uint64(p)), false, nil
}

// Ext reads an extension. The data is a part of the reader's slice.
func (r *Reader) Ext() (kind int8, data []byte, err error) {
	_, p, err := r.next(Ext)
	if err != nil {
		return 0, nil, err
	}
	// The type is the last byte of the head.
	return int8(r.b[r.pos-len(p)-1]), p, nil
}

// ArrayLen reads the head of an array and returns the number of values that follow. A number
// above that of the remaining bytes is ErrShort.
func (r *Reader) ArrayLen() (int, error) {
	h, _, err := r.next(Array)
	return h.count, err
}

// MapLen reads the head of a map and returns the number of pairs that follow, with the same
// bound.
func (r *Reader) MapLen() (int, error) {
	h, _, err := r.next(Map)
	return h.count / 2, err
}

// Skip skips the next value and everything in it.
func (r *Reader) Skip() error {
	n, err := Skip(r.Rest())
	r.pos += n
	return err
}

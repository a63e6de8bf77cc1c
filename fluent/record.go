package fluent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/encode"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// Record is a record built field by field: a way to log without filling a map or a struct
// first, and without any allocation once the Record has been used for one of its size. The
// zero Record is empty and ready to use:
//
//	var r fluent.Record
//	r.Str("method", "GET").Int("status", 200)
//	r.Begin("client").Str("ip", ip).Int("port", port).End()
//	err := logger.Post("app.access", &r)
//	r.Reset()
//
// Each method returns the Record, for chaining. Fields keep their order; a repeated key is
// sent repeatedly, and most receivers keep the last one. Post copies the data, so that a
// Record can be reset and filled again as soon as Post returns.
//
// A Record must not be copied or used by several goroutines at a time.
type Record struct {
	// buf has room for the longest head of a map, followed by the pairs.
	buf  []byte
	n    int // pairs of the innermost open group, or of the record
	open []group
	err  error // the first one
}

// group is a group that Begin opened.
type group struct {
	key, head int // offsets in buf of its key, and of its map's head of one byte
	outer     int // earlier pairs of the enclosing group
}

// headRoom is the size of the longest head of a map.
const headRoom = 5

// Reset removes all fields and the error. It keeps the memory for the next fields.
func (r *Record) Reset() *Record {
	r.buf, r.n, r.open, r.err = r.buf[:0], 0, r.open[:0], nil
	return r
}

// Len returns the number of fields; a closed group counts as one, and fields of open groups
// don't count.
func (r *Record) Len() int {
	if len(r.open) > 0 {
		return r.open[0].outer
	}
	return r.n
}

// leaveHeadRoom extends buf to its minimum length.
func (r *Record) leaveHeadRoom() {
	if len(r.buf) == 0 {
		r.buf = append(r.buf, make([]byte, headRoom)...)
	}
}

// field appends the key of a pair; the value must follow.
func (r *Record) field(key string) {
	r.leaveHeadRoom()
	r.buf = msgpack.AppendString(r.buf, key)
	r.n++
}

// Str adds a string. Its bytes are sent unchanged; receivers expect UTF-8.
func (r *Record) Str(key, v string) *Record {
	r.field(key)
	r.buf = msgpack.AppendString(r.buf, v)
	return r
}

// ByteString adds a string given as a byte slice, without a conversion.
func (r *Record) ByteString(key string, v []byte) *Record {
	r.field(key)
	r.buf = append(msgpack.AppendStringLen(r.buf, len(v)), v...)
	return r
}

// Int adds an integer.
func (r *Record) Int(key string, v int) *Record { return r.Int64(key, int64(v)) }

// Int64 adds an integer.
func (r *Record) Int64(key string, v int64) *Record {
	r.field(key)
	r.buf = msgpack.AppendInt(r.buf, v)
	return r
}

// Uint adds an unsigned integer.
func (r *Record) Uint(key string, v uint64) *Record {
	r.field(key)
	r.buf = msgpack.AppendUint(r.buf, v)
	return r
}

// Float adds a double-precision number.
func (r *Record) Float(key string, v float64) *Record {
	r.field(key)
	r.buf = msgpack.AppendFloat64(r.buf, v)
	return r
}

// Bool adds a boolean.
func (r *Record) Bool(key string, v bool) *Record {
	r.field(key)
	r.buf = msgpack.AppendBool(r.buf, v)
	return r
}

// Time adds a time as text, RFC 3339 with the necessary fraction digits. It is an ordinary
// field: use PostWithTime to set the time of the event.
func (r *Record) Time(key string, v time.Time) *Record {
	r.field(key)
	r.buf = encode.AppendTime(r.buf, v)
	return r
}

// Duration adds a duration as an integer of nanoseconds.
func (r *Record) Duration(key string, v time.Duration) *Record { return r.Int64(key, int64(v)) }

// Bytes adds binary data.
func (r *Record) Bytes(key string, v []byte) *Record {
	r.field(key)
	r.buf = msgpack.AppendBytes(r.buf, v)
	return r
}

// Error adds the text of an error, or nil.
func (r *Record) Error(key string, err error) *Record { return r.Any(key, err) }

// Any adds any value that Post accepts inside a record. If the value can't be encoded, the
// field is omitted and Post returns the error instead of sending the record.
func (r *Record) Any(key string, v any) *Record {
	if err := r.any(key, v); err != nil && r.err == nil {
		r.err = err
	}
	return r
}

// any adds a field of any value; on an error it adds nothing.
func (r *Record) any(key string, v any) error {
	start, n := len(r.buf), r.n
	r.field(key)
	buf, err := encode.Append(r.buf, v)
	if err != nil {
		r.buf, r.n = r.buf[:start], n
		return encode.Within(err, key)
	}
	r.buf = buf
	return nil
}

// Begin opens a group: the fields up to its End become a nested map under key. Groups may be
// nested.
func (r *Record) Begin(key string) *Record {
	outer, start := r.n, max(len(r.buf), headRoom)
	r.field(key)
	r.open = append(r.open, group{key: start, head: len(r.buf), outer: outer})
	r.buf = msgpack.AppendMapLen(r.buf, 0)
	r.n = 0
	return r
}

// End closes the group that was opened last. Without an open group, the record has an error.
func (r *Record) End() *Record {
	last := len(r.open) - 1
	if last < 0 {
		if r.err == nil {
			r.err = errors.New("fluent: record: End without Begin")
		}
		return r
	}
	g := r.open[last]
	r.open = r.open[:last]
	if r.n > 15 { // the head needs more than the one byte there is
		var head [headRoom]byte
		n := len(msgpack.AppendMapLen(head[:0], r.n))
		r.buf = slices.Insert(r.buf, g.head+1, head[1:n]...)
	}
	msgpack.AppendMapLen(r.buf[:g.head], r.n)
	r.n = g.outer + 1
	return r
}

// endUnlessEmpty is End, except that it removes a group without fields.
func (r *Record) endUnlessEmpty() {
	if r.n > 0 {
		r.End()
		return
	}
	g := r.open[len(r.open)-1]
	r.open = r.open[:len(r.open)-1]
	r.buf, r.n = r.buf[:g.key], g.outer
}

// pairs returns the encoded fields of a record without open groups.
func (r *Record) pairs() []byte {
	if len(r.buf) == 0 {
		return nil
	}
	return r.buf[headRoom:]
}

// addPairs adds n encoded fields.
func (r *Record) addPairs(pairs []byte, n int) {
	if n == 0 {
		return
	}
	r.leaveHeadRoom()
	r.buf = append(r.buf, pairs...)
	r.n += n
}

// payload returns the record as MessagePack. It is the Record's own memory, valid until the
// next change of the Record.
func (r *Record) payload() ([]byte, error) {
	switch {
	case r == nil:
		return nil, fmt.Errorf("%w, not a nil *Record", ErrNotRecord)
	case r.err != nil:
		return nil, r.err
	case len(r.open) > 0:
		return nil, errors.New("fluent: record: a group has no End")
	}
	r.leaveHeadRoom()
	// The head ends where the pairs begin.
	var head [headRoom]byte
	n := len(msgpack.AppendMapLen(head[:0], r.n))
	p := r.buf[headRoom-n:]
	copy(p, head[:n])
	return p, nil
}

// MarshalMsg appends the record to b as MessagePack, so that a Record can be a value in
// another record. It returns the same error as Post.
func (r *Record) MarshalMsg(b []byte) ([]byte, error) {
	p, err := r.payload()
	if err != nil {
		return b, err
	}
	return append(b, p...), nil
}

package fluent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/encode"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// Record is a record built field by field: the way to log without a map or a
// struct to be filled first, and without any allocation once the Record has
// been used for one of its size. The zero Record is empty and ready:
//
//	var r fluent.Record
//	r.Str("method", "GET").Int("status", 200)
//	r.Begin("client").Str("ip", ip).Int("port", port).End()
//	err := logger.Post("app.access", &r)
//	r.Reset()
//
// Each method returns the Record, for chains. Fields keep their order; a key
// given twice is sent twice, and what receivers make of that is theirs (most
// keep the last). Post and its relatives copy what they need, so that a Record
// can be reset and filled again as soon as they return.
//
// A Record must not be copied, nor used by several goroutines at a time.
type Record struct {
	// buf has room for the longest head of a map, and then the pairs.
	buf  []byte
	n    int // pairs of the innermost open group, or of the record
	open []group
	err  error // the first one
}

// group is a group that Begin opened.
type group struct {
	key, head int // where in buf its key is, and its map's head of one byte
	outer     int // pairs around it before it
}

// headRoom is the size of the longest head of a map.
const headRoom = 5

// Reset empties the record and forgets its error. It keeps the memory for the
// next fields.
func (r *Record) Reset() *Record {
	r.buf, r.n, r.open, r.err = r.buf[:0], 0, r.open[:0], nil
	return r
}

// Len returns the number of fields; a group that has ended is one, and fields
// of groups that have not ended don't count.
func (r *Record) Len() int {
	if len(r.open) > 0 {
		return r.open[0].outer
	}
	return r.n
}

// leaveHeadRoom makes buf as long as it must at least be.
func (r *Record) leaveHeadRoom() {
	if len(r.buf) == 0 {
		r.buf = append(r.buf, make([]byte, headRoom)...)
	}
}

// field adds the key of a pair; the value is to follow.
func (r *Record) field(key string) {
	r.leaveHeadRoom()
	r.buf = msgpack.AppendString(r.buf, key)
	r.n++
}

// Str adds a string. Its bytes are sent as they are; receivers expect UTF-8.
func (r *Record) Str(key, v string) *Record {
	r.field(key)
	r.buf = msgpack.AppendString(r.buf, v)
	return r
}

// ByteString adds a string that is in a byte slice, and spares the conversion.
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

// Uint adds an integer that isn't negative.
func (r *Record) Uint(key string, v uint64) *Record {
	r.field(key)
	r.buf = msgpack.AppendUint(r.buf, v)
	return r
}

// Float adds a number of double precision.
func (r *Record) Float(key string, v float64) *Record {
	r.field(key)
	r.buf = msgpack.AppendFloat64(r.buf, v)
	return r
}

// Bool adds true or false.
func (r *Record) Bool(key string, v bool) *Record {
	r.field(key)
	r.buf = msgpack.AppendBool(r.buf, v)
	return r
}

// Time adds a time as text, RFC 3339 with as many digits of the second as it
// has. It is a field like others: the time of the event is given to PostWithTime.
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

// Error adds the text of an error, or nil for none.
func (r *Record) Error(key string, err error) *Record { return r.Any(key, err) }

// Any adds whatever Post would take inside a record. If the value can't be
// encoded, the field is left out, and the error is kept: Post returns it instead
// of sending the record.
func (r *Record) Any(key string, v any) *Record {
	if err := r.any(key, v); err != nil && r.err == nil {
		r.err = err
	}
	return r
}

// any adds a field of any value, or nothing if it returns an error.
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

// Begin opens a group: the fields up to its End are a map of their own, under
// key. Groups may contain groups.
func (r *Record) Begin(key string) *Record {
	outer, start := r.n, max(len(r.buf), headRoom)
	r.field(key)
	r.open = append(r.open, group{key: start, head: len(r.buf), outer: outer})
	r.buf = msgpack.AppendMapLen(r.buf, 0)
	r.n = 0
	return r
}

// End closes the group that was opened last. Without one, the record is in error.
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

// endUnlessEmpty closes the last group like End, but leaves nothing of it if it
// has no fields.
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

// addPairs adds n fields that are encoded already.
func (r *Record) addPairs(pairs []byte, n int) {
	if n == 0 {
		return
	}
	r.leaveHeadRoom()
	r.buf = append(r.buf, pairs...)
	r.n += n
}

// payload returns the record as MessagePack. It is the Record's own memory, and
// stays as it is until the next call of a method that changes the Record.
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

// MarshalMsg appends the record to b as MessagePack, as other packages' types
// that are encoded by their own code do; so a Record can be a value in another
// record. The error is that which Post would return.
func (r *Record) MarshalMsg(b []byte) ([]byte, error) {
	p, err := r.payload()
	if err != nil {
		return b, err
	}
	return append(b, p...), nil
}

// text is Str for bytes.
func (r *Record) text(key string, v []byte) {
	r.field(key)
	r.buf = append(msgpack.AppendStringLen(r.buf, len(v)), v...)
}

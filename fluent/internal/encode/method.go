package encode

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// appendMethod appends the result of v's own method.
func (p *plan) appendMethod(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return msgpack.AppendNil(dst), nil
	}
	switch r := p.receiver(v); p.op {
	case opMarshal:
		return appendMarshaled(dst, r.(marshaler), depth)
	case opError:
		text, err := errorText(r.(error))
		return msgpack.AppendString(dst, text), err
	case opAppendText:
		return appendAppended(dst, r.(encoding.TextAppender))
	default:
		text, err := marshaledText(r.(encoding.TextMarshaler))
		if err != nil {
			return dst, err
		}
		return append(msgpack.AppendStringLen(dst, len(text)), text...), nil
	}
}

// receiver returns the receiver of the method: v or a pointer to it. If the method needs a
// pointer and v is not addressable, it returns a pointer to a copy, so that a value is
// encoded the same however it was passed.
func (p *plan) receiver(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer && !p.needsPointer:
		return v.Interface()
	case v.CanAddr():
		return v.Addr().Interface()
	case !p.needsPointer:
		return v.Interface()
	}
	c := reflect.New(v.Type())
	c.Elem().Set(v)
	return c.Interface()
}

// appendMarshaled appends the output of m, which must be one complete value. m receives its
// own slice to append to, the capacity behind dst, so that it can't change earlier output.
// depth is the nesting around m.
func appendMarshaled(dst []byte, m marshaler, depth int) ([]byte, error) {
	room := dst[len(dst):]
	out, err := callMarshal(m, room)
	if err != nil {
		return dst, err
	}
	n, err := msgpack.SkipNested(out, maxDepth-depth)
	if err == msgpack.ErrDeep {
		return dst, errTooDeep()
	}
	if err != nil || n != len(out) {
		return dst, failf("MarshalMsg of %T: its %d bytes are not one MessagePack value", m, len(out))
	}
	if cap(room) > 0 && &out[0] == &room[:1][0] {
		return dst[:len(dst)+n], nil
	}
	return append(dst, out...), nil
}

// appendAppended appends the text of t, using the capacity behind dst if it is large enough.
func appendAppended(dst []byte, t encoding.TextAppender) ([]byte, error) {
	const room = 5 // of the longest head
	start := len(dst)
	dst = append(dst, make([]byte, room)...)
	mine := dst[len(dst):]
	text, err := callAppendText(t, mine)
	if err != nil {
		return dst, err
	}
	if len(text) > 0 && cap(mine) > 0 && &text[0] == &mine[:1][0] {
		dst = dst[:len(dst)+len(text)]
	} else {
		dst = append(dst, text...)
	}
	return insertStringLen(dst, start, start+room), nil
}

// The functions below call the user's code and turn panics into errors. They differ in
// nothing else, but a common function would have to allocate a closure.

func callMarshal(m marshaler, dst []byte) (out []byte, err error) {
	defer recovered(&err, "MarshalMsg", m)
	out, err = m.MarshalMsg(dst)
	return out, wrapped(err, "MarshalMsg", m)
}

func callAppendText(t encoding.TextAppender, dst []byte) (out []byte, err error) {
	defer recovered(&err, "AppendText", t)
	out, err = t.AppendText(dst)
	return out, wrapped(err, "AppendText", t)
}

func marshaledText(t encoding.TextMarshaler) (out []byte, err error) {
	defer recovered(&err, "MarshalText", t)
	out, err = t.MarshalText()
	return out, wrapped(err, "MarshalText", t)
}

func errorText(e error) (text string, err error) {
	defer recovered(&err, "Error", e)
	return e.Error(), nil
}

func wrapped(err error, method string, v any) error {
	if err == nil {
		return nil
	}
	return &Error{err: fmt.Errorf("%s of %T: %w", method, v, err)}
}

// recovered is to be deferred.
func recovered(err *error, method string, v any) {
	if r := recover(); r != nil {
		*err = failf("%s of %T panicked: %v", method, v, r)
	}
}

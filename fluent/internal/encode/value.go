package encode

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// append appends v, of p's type, nested in depth others.
func (p *plan) append(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	switch p.op {
	case opString:
		return msgpack.AppendString(dst, v.String()), nil
	case opInt:
		return msgpack.AppendInt(dst, v.Int()), nil
	case opUint:
		return msgpack.AppendUint(dst, v.Uint()), nil
	case opBool:
		return msgpack.AppendBool(dst, v.Bool()), nil
	case opFloat64:
		return msgpack.AppendFloat64(dst, v.Float()), nil
	case opFloat32:
		return msgpack.AppendFloat32(dst, float32(v.Float())), nil
	case opTime:
		return AppendTime(dst, timeOf(v)), nil
	case opBytes:
		return msgpack.AppendBytes(dst, v.Bytes()), nil
	case opByteArray:
		return appendByteArray(dst, v), nil
	case opNumber:
		return appendNumber(dst, json.Number(v.String()))
	case opPointer:
		return p.appendPointer(dst, v, depth)
	case opInterface:
		return appendAny(dst, v.Interface(), depth) // no copy: v holds it
	case opStruct:
		return p.fields.append(dst, v, depth)
	case opAnyMap:
		return appendMap(dst, anyMapOf(v), depth)
	case opMap:
		return p.appendMap(dst, v, depth)
	case opList:
		return p.appendList(dst, v, depth)
	case opMarshal, opError, opAppendText, opMarshalText:
		return p.appendMethod(dst, v, depth)
	}
	if p.why != "" {
		return dst, errType(p.why)
	}
	return dst, errType(p.typ.String())
}

func (p *plan) appendPointer(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.IsNil() {
		return msgpack.AppendNil(dst), nil
	}
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	return p.elem.append(dst, v.Elem(), depth+1)
}

func (p *plan) appendList(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	n := v.Len()
	dst = msgpack.AppendArrayLen(dst, n)
	for i := range n {
		var err error
		if dst, err = p.elem.append(dst, v.Index(i), depth+1); err != nil {
			return dst, at(err, i)
		}
	}
	return dst, nil
}

func appendByteArray(dst []byte, v reflect.Value) []byte {
	if v.CanAddr() {
		return msgpack.AppendBytes(dst, v.Bytes())
	}
	dst = msgpack.AppendBytesLen(dst, v.Len())
	for i := range v.Len() {
		dst = append(dst, byte(v.Index(i).Uint()))
	}
	return dst
}

// timeOf returns the time.Time in v. Interface would copy an addressable one to the heap.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

// anyMapOf returns the map in v, whose type converts to map[string]any. Convert alone would
// copy an addressable one.
func anyMapOf(v reflect.Value) map[string]any {
	return reflect.ValueOf(v.Interface()).Convert(typeAnyMap).Interface().(map[string]any)
}

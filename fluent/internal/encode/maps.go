package encode

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// mapScratch holds the memory to iterate over a map of one type. It belongs to one call of
// appendMap at a time, and has no references between calls.
type mapScratch struct {
	iter      reflect.MapIter
	key, elem reflect.Value
}

func scratchPool(t reflect.Type) *sync.Pool {
	return &sync.Pool{New: func() any {
		return &mapScratch{key: reflect.New(t.Key()).Elem(), elem: reflect.New(t.Elem()).Elem()}
	}}
}

func (p *plan) appendMap(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	dst = msgpack.AppendMapLen(dst, v.Len())
	return p.appendPairs(dst, v, depth, nil)
}

// appendPairs appends the pairs of the map v, except those for which leaveOut, if not nil,
// returns true.
func (p *plan) appendPairs(dst []byte, v reflect.Value, depth int, leaveOut func(key []byte) bool) ([]byte, error) {
	s := p.pool.Get().(*mapScratch)
	s.iter.Reset(v)
	var err error
	for err == nil && s.iter.Next() {
		start := len(dst)
		s.key.SetIterKey(&s.iter)
		if dst, err = p.key.appendKey(dst, s.key); err != nil {
			break
		}
		if leaveOut != nil && leaveOut(dst[start:]) {
			dst = dst[:start]
			continue
		}
		s.elem.SetIterValue(&s.iter)
		if dst, err = p.elem.append(dst, s.elem, depth+1); err != nil {
			err = Within(err, keyText(s.key))
		}
	}
	s.iter.Reset(reflect.Value{})
	s.key.SetZero()
	s.elem.SetZero()
	p.pool.Put(s)
	return dst, err
}

// appendKey adds a map's key as a string.
func (p *plan) appendKey(dst []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.String {
		return msgpack.AppendString(dst, v.String()), nil
	}
	switch p.op {
	case opInt:
		return appendDigits(dst, func(b []byte) []byte { return strconv.AppendInt(b, v.Int(), 10) }), nil
	case opUint:
		return appendDigits(dst, func(b []byte) []byte { return strconv.AppendUint(b, v.Uint(), 10) }), nil
	case opTime:
		return AppendTime(dst, timeOf(v)), nil
	case opAppendText, opMarshalText:
		start := len(dst)
		dst, err := p.appendMethod(dst, v, maxDepth)
		if err == nil && dst[start] == nilByte {
			return dst, failf("can't encode a nil pointer as a map's key")
		}
		return dst, err
	case opInterface:
		if v.IsNil() {
			return dst, failf("can't encode nil as a map's key")
		}
		in := v.Elem()
		return planOf(in.Type()).appendKey(dst, in)
	}
	return dst, failf("can't encode %v as a map's key", p.typ)
}

// nilByte is nil in MessagePack, and no other value begins with it.
const nilByte = 0xc0

// appendDigits appends a string of at most 31 bytes that write appends.
func appendDigits(dst []byte, write func([]byte) []byte) []byte {
	start := len(dst)
	dst = write(append(dst, 0))
	return insertStringLen(dst, start, start+1)
}

// keyText returns a key for a message.
func keyText(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Interface && !v.IsNil():
		return keyText(v.Elem())
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return "(" + v.Type().String() + ")"
}

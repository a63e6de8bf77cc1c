// Package encode encodes Go values as MessagePack.
//
//	bool, integers, floats     unchanged, integers in the shortest form
//	string                     string; the bytes are not checked to be UTF-8
//	[]byte, [N]byte            binary data
//	time.Time                  string in RFC 3339 with nanoseconds
//	time.Duration              integer of nanoseconds
//	json.Number                integer if it is one, float otherwise
//	map                        map; keys of string kind, integers or text
//	struct                     map of its exported fields, see below
//	array, slice               array
//	pointer, interface         the value that it refers to
//	nil pointer or interface   nil
//	nil map or slice           empty map, array or binary data
//
// A type with one of these methods is encoded by it, the first that it has, on itself or on
// a pointer to it, but never on a nil pointer:
//
//	MarshalMsg([]byte) ([]byte, error)   one MessagePack value, unchanged
//	Error() string                       string
//	AppendText([]byte) ([]byte, error)   string
//	MarshalText() ([]byte, error)        string
//
// A struct's fields are named and selected by the tag "fluent", or "msg" if that is missing,
// or "json": a name, then any of omitempty, omitzero and inline; "-" omits the field. The
// fields of embedded structs, and of fields with inline, are included in the outer struct by
// the rules of encoding/json; a map with inline adds its pairs, except those with the name
// of a field.
//
// Channels, functions and complex numbers can't be encoded. Values nested more than 100
// deep, including cycles, can't either.
package encode

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// maxDepth is the maximum nesting of maps, arrays, structs and pointers.
const maxDepth = 100

// Append appends v to dst. The error is an *Error; dst is then returned with its old length,
// though the bytes behind it may have changed.
func Append(dst []byte, v any) ([]byte, error) {
	out, err := appendAny(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendRecord appends v to dst if it is encoded as a map: a struct, a map, a pointer to
// one, or the output of MarshalMsg. Otherwise the error wraps ErrNotRecord; other errors are
// those of Append.
func AppendRecord(dst []byte, v any) ([]byte, error) {
	if m, ok := v.(map[string]any); ok {
		out, err := appendMap(dst, m, 0)
		if err != nil {
			return dst, err
		}
		return out, nil
	}
	out, err := appendAny(dst, v, 0)
	if err != nil {
		return dst, recordError(v, err)
	}
	if !isMap(out[len(dst)]) {
		return dst, notRecord(v)
	}
	return out, nil
}

// isMap reports whether a value that starts with c is a map.
func isMap(c byte) bool { return c&0xf0 == 0x80 || c == 0xde || c == 0xdf }

// appendAny appends v, which is nested in depth others. Common types are handled here, all
// others by a plan for their type.
func appendAny(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return msgpack.AppendNil(dst), nil
	case string:
		return msgpack.AppendString(dst, v), nil
	case int:
		return msgpack.AppendInt(dst, int64(v)), nil
	case bool:
		return msgpack.AppendBool(dst, v), nil
	case float64:
		return msgpack.AppendFloat64(dst, v), nil
	case int64:
		return msgpack.AppendInt(dst, v), nil
	case map[string]any:
		return appendMap(dst, v, depth)
	case map[string]string:
		return appendStrings(dst, v), nil
	case []any:
		return appendList(dst, v, depth)
	case []string:
		dst = msgpack.AppendArrayLen(dst, len(v))
		for _, s := range v {
			dst = msgpack.AppendString(dst, s)
		}
		return dst, nil
	case []byte:
		return msgpack.AppendBytes(dst, v), nil
	case time.Time:
		return AppendTime(dst, v), nil
	case time.Duration:
		return msgpack.AppendInt(dst, int64(v)), nil
	case json.Number:
		return appendNumber(dst, v)
	case int32:
		return msgpack.AppendInt(dst, int64(v)), nil
	case int16:
		return msgpack.AppendInt(dst, int64(v)), nil
	case int8:
		return msgpack.AppendInt(dst, int64(v)), nil
	case uint:
		return msgpack.AppendUint(dst, uint64(v)), nil
	case uint64:
		return msgpack.AppendUint(dst, v), nil
	case uint32:
		return msgpack.AppendUint(dst, uint64(v)), nil
	case uint16:
		return msgpack.AppendUint(dst, uint64(v)), nil
	case uint8:
		return msgpack.AppendUint(dst, uint64(v)), nil
	case float32:
		return msgpack.AppendFloat32(dst, v), nil
	}
	return planOf(reflect.TypeOf(v)).append(dst, reflect.ValueOf(v), depth)
}

func appendMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	dst = msgpack.AppendMapLen(dst, len(m))
	for k, v := range m {
		dst = msgpack.AppendString(dst, k)
		switch v := v.(type) {
		case string: // here rather than below, since most are strings
			dst = msgpack.AppendString(dst, v)
			continue
		case int:
			dst = msgpack.AppendInt(dst, int64(v))
			continue
		}
		var err error
		if dst, err = appendAny(dst, v, depth+1); err != nil {
			return dst, Within(err, k)
		}
	}
	return dst, nil
}

func appendStrings(dst []byte, m map[string]string) []byte {
	dst = msgpack.AppendMapLen(dst, len(m))
	for k, v := range m {
		dst = msgpack.AppendString(msgpack.AppendString(dst, k), v)
	}
	return dst
}

func appendList(dst []byte, list []any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	dst = msgpack.AppendArrayLen(dst, len(list))
	for i, v := range list {
		var err error
		if dst, err = appendAny(dst, v, depth+1); err != nil {
			return dst, at(err, i)
		}
	}
	return dst, nil
}

// AppendTime appends t as text, which every server can store; Fluentd has no other form for
// a time inside a record. The text is at most 35 bytes, or a few more for years with five
// digits.
func AppendTime(dst []byte, t time.Time) []byte {
	const room = 2 // of the head of a string of 32 to 255 bytes
	start := len(dst)
	dst = t.AppendFormat(append(dst, 0, 0), time.RFC3339Nano)
	return insertStringLen(dst, start, start+room)
}

// insertStringLen writes the head of a string at start, whose text is at text to the end of
// dst, and moves the text behind it. There must be room between them.
func insertStringLen(dst []byte, start, text int) []byte {
	n := len(dst) - text
	head := len(msgpack.AppendStringLen(dst[:start], n))
	if head != text {
		copy(dst[head:], dst[text:])
	}
	return dst[:head+n]
}

// appendNumber appends a number kept as its JSON text.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	s := string(n)
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return msgpack.AppendInt(dst, i), nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return msgpack.AppendUint(dst, u), nil
	}
	// ParseFloat also accepts "Inf" and hexadecimal numbers, which JSON does not have.
	if strings.Trim(s, "0123456789+-.eE") == "" {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return msgpack.AppendFloat64(dst, f), nil
		}
	}
	return dst, failf("can't encode json.Number %q", s)
}

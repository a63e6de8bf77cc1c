// Package encode writes Go values as MessagePack.
//
//	bool, integers, floats     as what they are, integers in the shortest form
//	string                     string; the bytes are not checked to be UTF-8
//	[]byte, [N]byte            binary data
//	time.Time                  string in RFC 3339 with nanoseconds
//	time.Duration              integer of nanoseconds
//	json.Number                integer if it is one, float otherwise
//	map                        map; keys of string kind, integers or text
//	struct                     map of its exported fields, see below
//	array, slice               array
//	pointer, interface         what it refers to
//	nil pointer or interface   nil
//	nil map or slice           empty map, array or binary data
//
// A type with one of these methods is written by it, the first that it has, on
// itself or on a pointer to it, but never on a nil pointer:
//
//	MarshalMsg([]byte) ([]byte, error)   one MessagePack value, as it is
//	Error() string                       string
//	AppendText([]byte) ([]byte, error)   string
//	MarshalText() ([]byte, error)        string
//
// A struct's fields are named and chosen by the tag "fluent", or "msg" where
// that is missing, or "json": a name, then any of omitempty, omitzero and inline;
// "-" leaves the field out. Embedded structs, and fields with inline, have their
// fields taken into the outer one by the rules of encoding/json; a map with
// inline adds its pairs, but not those with the name of a field.
//
// Channels, functions and complex numbers can't be written, nor can values that
// are nested more than 100 deep, cycles among them.
package encode

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// maxDepth is how many maps, arrays, structs and pointers may contain each
// other.
const maxDepth = 100

// Append adds v to dst. The error is an *Error; with it, dst comes back as it
// was, though the bytes behind its end may have changed.
func Append(dst []byte, v any) ([]byte, error) {
	out, err := appendAny(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendRecord adds v to dst if it makes a map, as a struct does, a map, a
// pointer to one, or the output of MarshalMsg. ErrNotRecord, wrapped, says that
// it is something else; other errors are those of Append.
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

// appendAny adds v, which has depth others around it. Common types are told
// apart here; what is left goes by a plan made of its type.
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
		case string: // here rather than below, since most are
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

// AppendTime adds t as text, which every server can store; Fluentd has no other
// form for a time inside a record. The text is at most 35 bytes, or a few more
// for years that have five digits.
func AppendTime(dst []byte, t time.Time) []byte {
	const room = 2 // of the head of a string of 32 to 255 bytes
	start := len(dst)
	dst = t.AppendFormat(append(dst, 0, 0), time.RFC3339Nano)
	return insertStringLen(dst, start, start+room)
}

// insertStringLen writes the head of a string at start, whose text is at text to
// the end of dst, and moves the text to it. There must be room between them.
func insertStringLen(dst []byte, start, text int) []byte {
	n := len(dst) - text
	head := len(msgpack.AppendStringLen(dst[:start], n))
	if head != text {
		copy(dst[head:], dst[text:])
	}
	return dst[:head+n]
}

// appendNumber adds a number that was kept as the text it had in JSON.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	s := string(n)
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return msgpack.AppendInt(dst, i), nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return msgpack.AppendUint(dst, u), nil
	}
	// ParseFloat takes "Inf" and hexadecimal numbers too, which JSON has not.
	if strings.Trim(s, "0123456789+-.eE") == "" {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return msgpack.AppendFloat64(dst, f), nil
		}
	}
	return dst, failf("can't encode json.Number %q", s)
}

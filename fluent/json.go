package fluent

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// maxJSONDepth is the maximum nesting of arrays and maps. Post accepts less; deeper values
// from other sources become null.
const maxJSONDepth = 200

// appendJSON appends the first value in data as JSON without line breaks, and returns the
// rest of data. It returns an error and dst unchanged if data does not begin with a complete
// value.
//
// JSON has fewer types than MessagePack. Integers keep all their digits; floats that aren't
// finite become null. Binary data becomes base64. An EventTime becomes a number of seconds,
// with as many decimals as necessary, as servers display times and older clients wrote them.
// Other extensions become {"type": number, "data": base64}. Keys that aren't strings become
// the text of their JSON. Invalid UTF-8 becomes U+FFFD.
func appendJSON(dst, data []byte) (out, rest []byte, err error) {
	// Once the value is known to be complete, nothing below can fail.
	n, err := msgpack.Skip(data)
	if err != nil {
		return dst, data, err
	}
	w := jsonWriter{in: msgpack.NewReader(data[:n]), out: dst}
	w.value(0)
	return w.out, data[n:], nil
}

// jsonWriter reads complete values from in and appends them to out.
type jsonWriter struct {
	in  msgpack.Reader
	out []byte
}

func (w *jsonWriter) value(depth int) {
	switch w.in.Kind() {
	case msgpack.Bool:
		v, _ := w.in.Bool()
		w.out = strconv.AppendBool(w.out, v)
	case msgpack.Int:
		w.integer()
	case msgpack.Float:
		w.float()
	case msgpack.String:
		v, _ := w.in.Bytes()
		w.out = appendJSONString(w.out, v)
	case msgpack.Binary:
		v, _ := w.in.Bytes()
		w.base64(v)
	case msgpack.Ext:
		w.extension()
	case msgpack.Array, msgpack.Map:
		w.container(depth)
	default:
		_ = w.in.Skip()
		w.out = append(w.out, "null"...)
	}
}

func (w *jsonWriter) integer() {
	if v, err := w.in.Int(); err == nil {
		w.out = strconv.AppendInt(w.out, v, 10)
		return
	}
	v, _ := w.in.Uint()
	w.out = strconv.AppendUint(w.out, v, 10)
}

func (w *jsonWriter) float() {
	v, single, _ := w.in.Float()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.out = append(w.out, "null"...)
		return
	}
	bits := 64
	if single {
		bits = 32
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	w.out = strconv.AppendFloat(w.out, v, format, -1, bits)
}

func (w *jsonWriter) base64(v []byte) {
	w.out = append(w.out, '"')
	w.out = base64.StdEncoding.AppendEncode(w.out, v)
	w.out = append(w.out, '"')
}

func (w *jsonWriter) extension() {
	kind, v, _ := w.in.Ext()
	if kind == 0 && len(v) == 8 {
		w.eventTime(binary.BigEndian.Uint32(v), binary.BigEndian.Uint32(v[4:]))
		return
	}
	w.out = append(w.out, `{"type":`...)
	w.out = strconv.AppendInt(w.out, int64(kind), 10)
	w.out = append(w.out, `,"data":`...)
	w.base64(v)
	w.out = append(w.out, '}')
}

// eventTime writes seconds and nanoseconds as one number. Nanoseconds beyond a second, which
// no client should send, are carried over.
func (w *jsonWriter) eventTime(sec, nsec uint32) {
	const second = 1_000_000_000
	w.out = strconv.AppendUint(w.out, uint64(sec)+uint64(nsec/second), 10)
	if nsec %= second; nsec == 0 {
		return
	}
	w.out = append(w.out, '.')
	for digit := uint32(second / 10); nsec > 0; digit /= 10 {
		w.out = append(w.out, byte('0'+nsec/digit))
		nsec %= digit
	}
}

func (w *jsonWriter) container(depth int) {
	if depth >= maxJSONDepth {
		_ = w.in.Skip()
		w.out = append(w.out, "null"...)
		return
	}
	if n, err := w.in.ArrayLen(); err == nil {
		w.out = append(w.out, '[')
		for i := range n {
			w.comma(i)
			w.value(depth + 1)
		}
		w.out = append(w.out, ']')
		return
	}
	n, _ := w.in.MapLen()
	w.out = append(w.out, '{')
	for i := range n {
		w.comma(i)
		w.key(depth + 1)
		w.out = append(w.out, ':')
		w.value(depth + 1)
	}
	w.out = append(w.out, '}')
}

func (w *jsonWriter) comma(i int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

// key writes the key of a map: any other type than a string is written as a value, and its
// text becomes a string.
func (w *jsonWriter) key(depth int) {
	start := len(w.out)
	if w.value(depth); w.out[start] == '"' {
		return
	}
	text := string(w.out[start:])
	w.out = appendJSONString(w.out[:start], []byte(text))
}

// appendJSONString appends text as a JSON string.
func appendJSONString(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0 // already in dst
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRune(text[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, text[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = append(dst, `\ufffd`...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i += size
		done = i
	}
	dst = append(dst, text[done:]...)
	return append(dst, '"')
}

package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendKey appends bytes for a String, Number or Binary whose order is the
// order of the values of one type and which say themselves where they end, so
// that those of several values can follow each other.
func (v *Value) AppendKey(dst []byte) []byte {
	if v.Type == Number {
		var n wire.Number
		n.Parse(v.Text)
		return n.AppendOrdered(dst)
	}
	return append(v.AppendKeyPrefix(dst), 0, 0)
}

// AppendKeyPrefix appends, for a String or Binary, what the AppendKey bytes of
// every value begin with that begins with v, and of no other.
func (v *Value) AppendKeyPrefix(dst []byte) []byte {
	text := v.Text
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		dst = append(dst, 0, 0xff)
		text = text[i+1:]
	}
}

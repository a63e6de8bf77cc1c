package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// AppendKey appends an encoding of a String, Number or Binary whose byte order is the order
// of the values of one type. The encoding marks its own end, so several of them can follow
// each other.
func (v *Value) AppendKey(dst []byte) []byte {
	if v.Type == Number {
		var n wire.Number
		n.Parse(v.Text)
		return n.AppendOrdered(dst)
	}
	return append(v.AppendKeyPrefix(dst), 0, 0)
}

// AppendKeyPrefix appends, for a String or Binary, the common prefix of the AppendKey
// encodings of exactly the values that begin with v.
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

package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Compare orders two Strings, two Numbers or two Binaries; ok is false for
// values that have no order.
func Compare(v, w *Value) (order int, ok bool) {
	if v.Type != w.Type {
		return 0, false
	}
	switch v.Type {
	case String, Binary:
		return bytes.Compare(v.Text, w.Text), true
	case Number:
		if bytes.Equal(v.Text, w.Text) {
			return 0, true
		}
		var m, n wire.Number
		m.Parse(v.Text)
		n.Parse(w.Text)
		return m.Compare(&n), true
	}
	return 0, false
}

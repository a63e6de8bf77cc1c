package cbor

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile passes large declared lengths to both readers.
func TestHostile(t *testing.T) {
	hostile.Reads(t, func(b []byte) {
		var s Scanner
		s.Begin(1)
		_, _, _ = s.Scan(b)
		r := NewReader(b)
		r.Raw()
		for _, read := range []func(*Reader){
			func(r *Reader) { r.Array() }, func(r *Reader) { r.Map() }, func(r *Reader) { r.Bytes() }, func(r *Reader) { r.Text() },
			func(r *Reader) { _ = r.String() }, func(r *Reader) { r.Skip() }, func(r *Reader) { r.Tag(); r.Array() },
		} {
			r := NewReader(b)
			read(&r)
			_ = r.Close()
		}
	}, []byte{0x82, 0x00}, []byte{0xbf, 0x00}, []byte{0x9f})
}

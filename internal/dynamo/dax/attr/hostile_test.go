package attr

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads values with large declared lengths, also in lists, maps and sets.
func TestHostile(t *testing.T) {
	hostile.Reads(t, func(b []byte) {
		r := cbor.NewReader(b)
		_, _ = AppendJSON(nil, &r)
	}, []byte{0x82, 0x00}, []byte{0xa2, 0x61, 'a'}, []byte{0xa1}, []byte{0xd9, 0x0c, 0xf9, 0x82}, []byte{0xd9, 0x0c, 0xfa, 0x82}, []byte{0xd9, 0x0c, 0xfb, 0x82})
}

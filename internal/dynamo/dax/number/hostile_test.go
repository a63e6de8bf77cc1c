package number

import (
	"bytes"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads numbers with many declared bytes or digits.
func TestHostile(t *testing.T) {
	hostile.Reads(t, func(b []byte) {
		r := cbor.NewReader(b)
		_, _ = AppendText(nil, &r)
		_, _ = AppendOrderedText(nil, b)
		_, _ = AppendCBOR(nil, b)
		_, _ = AppendOrdered(nil, b)
	}, []byte{0xc4, 0x82}, []byte{0xc4, 0x82, 0x00}, []byte("1e"), []byte("1e+999999999999"), bytes.Repeat([]byte{0xff}, 4))
}

package key

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads keys of all types with large declared lengths.
func TestHostile(t *testing.T) {
	for _, types := range []string{"S", "N", "B", "SS", "NN", "BB", "SN", "NB", "BS"} {
		s := schema(types)
		hostile.Reads(t, func(b []byte) {
			_, _ = s.AppendJSON(nil, b)
			_, _, _ = s.AppendCanonical(nil, b)
		}, []byte{0x61, 'a'}, []byte{0x01}, []byte{0x41, 'a'})
	}
	hostile.Reads(t, func(b []byte) { _, _ = AppendStartJSON(nil, b) }, []byte{0xbf, 0x61, 'a'}, []byte{0xa1}, []byte{0xa1, 0x61, 'a'})
}

func TestStartTooLong(t *testing.T) {
	long := cbor.AppendBytes(cbor.AppendText([]byte{0xa1}, "k"), make([]byte, maxStart))
	if _, err := AppendStartJSON(nil, long); err == nil || !strings.Contains(err.Error(), "it has 65544 bytes") {
		t.Error(err)
	}
}

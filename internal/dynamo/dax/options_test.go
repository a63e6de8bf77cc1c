package dax

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// TestOptionsRelease sets options again and releases them: they then reference nothing of the
// request.
func TestOptionsRelease(t *testing.T) {
	for _, text := range []string{
		"bf 00 4101 ff",
		"bf 00 4101 00 f6 ff",
		"bf 00 4101 00 f6 03 01 ff",
	} {
		var o options
		r := cbor.NewReader(unhex(t, text))
		if o.parse(&r, optionSet(optProjection, optCapacity)); r.Err() != nil {
			t.Fatal(r.Err())
		}
		o.clear()
		for key, v := range o.value {
			if v != nil || o.has(key) {
				t.Errorf("%s: option %d still has the value %x", text, key, v)
			}
		}
	}
}

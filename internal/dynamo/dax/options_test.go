package dax

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// TestOptionsRelease takes options back that were given, and then lets go of all: nothing of
// the request may be held.
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
				t.Errorf("%s: option %d is %x", text, key, v)
			}
		}
	}
}

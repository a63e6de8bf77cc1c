package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads expressions with large declared numbers of operations, names, values and
// elements.
func TestHostile(t *testing.T) {
	var w Placeholders
	hostile.Reads(t, func(b []byte) {
		for _, kind := range "cup" {
			w.Reset()
			if _, err := w.render(byte(kind), b); err == nil {
				w.AppendNames(nil)
				_, _ = w.AppendValues(nil)
			}
		}
	}, []byte{0x83, 0x01}, []byte{0x82, 0x01}, unhex(t, "830181"), unhex(t, "820181 82 12"), unhex(t, "830183 00"), unhex(t, "830183 00 82126161 8211"),
		unhex(t, "830183 0a 82126161"), unhex(t, "830182 0b 821261 61"), unhex(t, "830181 8313 82126161 8211"), unhex(t, "830183 00 82126161 821100"),
		unhex(t, "820181 83126161 d90cfc"))
}

// TestResetReleasesMemory checks that large expressions don't keep memory after Reset.
func TestResetReleasesMemory(t *testing.T) {
	update := unhex(t, "830199 2000"+strings.Repeat("8216 82126161", 1<<13)+"80")
	var many []byte
	for i := range 2 * keepWords {
		many = cbor.AppendText(append(many, 0x82, opPath), fmt.Sprint(i))
	}
	many = append(cbor.AppendArray(unhex(t, "8201"), 2*keepWords), many...)
	var w Placeholders
	if _, err := w.Update(nil, update); err != nil {
		t.Fatal(err)
	}
	if w.Reset(); cap(w.clause[1]) > keepClause {
		t.Errorf("the buffer of a clause still has %d bytes", cap(w.clause[1]))
	}
	if _, _, err := w.Projection(nil, many); err != nil {
		t.Fatal(err)
	}
	if w.Reset(); cap(w.names) > keepWords || len(w.index) > 0 {
		t.Errorf("memory for %d names is kept", cap(w.names))
	}
}

package item

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads items that announce much: numbers of lists, and values of attributes.
func TestHostile(t *testing.T) {
	l := &numbered{lists: [][]string{{"age", "name"}, {"x"}}}
	hostile.Reads(t, func(b []byte) { _, _ = AppendJSON(nil, l, hashOnly, []byte("k"), b) }, []byte{0x01}, []byte{0x02}, []byte{0x02, 0x00})
}

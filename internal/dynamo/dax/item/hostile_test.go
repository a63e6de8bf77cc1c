package item

import (
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/hostile"
)

// TestHostile reads items with large declared numbers of lists and lengths of values.
func TestHostile(t *testing.T) {
	l := &numbered{lists: [][]string{{"age", "name"}, {"x"}}}
	hostile.Reads(t, func(b []byte) { _, _ = AppendJSON(nil, l, hashOnly, []byte("k"), b) }, []byte{0x01}, []byte{0x02}, []byte{0x02, 0x00})
}

// TestTooLarge has more bytes than the largest item of DynamoDB.
func TestTooLarge(t *testing.T) {
	const want = "an item of 4194305 bytes: DynamoDB takes no more than 400 KB"
	if _, err := AppendJSON(nil, &numbered{}, hashOnly, []byte("k"), make([]byte, maxBytes+1)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

package item

import (
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/key"
	"github.com/kasoku/kasoku/internal/dynamo/value"
)

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	v, err := value.ParseItem(a)
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	w, err := value.ParseItem(b)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v.Equal(&w)
}

// TestRecorded converts items recorded from clients. Each line has the types of the table's
// key, key bytes, item bytes, the names of the item's list and the item that was put.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/items.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		f := strings.SplitN(strings.TrimSpace(line), " ", 5)
		s := &key.Schema{Hash: key.Attribute{Name: "pk", Type: f[0][0]}}
		if len(f[0]) > 1 {
			s.Range = key.Attribute{Name: "sk", Type: f[0][1]}
		}
		k, item, want := unhex(t, f[1]), unhex(t, f[2]), []byte(f[4])
		r := cbor.NewReader(item)
		l := one{id: uint64(r.Int()), names: strings.Split(f[3], ",")}
		if f[3] == "-" {
			l.names = nil
		}
		got, err := AppendJSON(nil, l, s, k, item)
		if err != nil || !same(t, got, want) {
			t.Errorf("%x: got %s, %v, want %s", item, got, err, want)
			continue
		}
		back, err := AppendBytes(nil, l, s, want)
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if again, err := AppendJSON(nil, l, s, k, back); err != nil || !same(t, again, want) {
			t.Errorf("%s: %x was converted back to %s, %v", want, back, again, err)
		}
	}
	if n != 41 {
		t.Errorf("only %d items were recorded", n)
	}
}

// one has a single list, and accepts the names of an item only in that order.
type one struct {
	id    uint64
	names []string
}

func (l one) ID(names [][]byte) (uint64, error) {
	known := &numbered{lists: [][]string{l.names}, full: errUnknown}
	if _, err := known.ID(names); err != nil {
		return 0, err
	}
	return l.id, nil
}

func (l one) Names(id uint64) ([]string, bool) { return l.names, id == l.id }

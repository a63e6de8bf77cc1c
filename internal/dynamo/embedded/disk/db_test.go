package disk

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestScratch(t *testing.T) {
	fs := vfs.NewMem()
	d, err := Open("x", Options{fs: fs})
	if err != nil {
		t.Fatal(err)
	}
	b := d.NewBatch()
	b.Set([]byte("a"), []byte("1"))
	b.Add([]byte("n"), 1, -2)
	if err := d.Commit(b); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = Open("x", Options{fs: fs})
	if err != nil {
		t.Fatal(err)
	}
	var s [2]int64
	if err := Sums(d, []byte("n"), s[:]); err != nil || s != [2]int64{1, -2} {
		t.Fatal(s, err)
	}
	d.Close()
}

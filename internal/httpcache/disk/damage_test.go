package disk_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

const (
	damagedBody = 150_000 // two blocks and a part of one
	damagedSize = damagedBody + 4*3 + 4
)

// damaged returns a part with one body, opened again after f has changed the file with that
// ending.
func damaged(t *testing.T, ending string, f func([]byte) []byte) (*disk.Part, []disk.Found, *memfs.FS) {
	t.Helper()
	m := memfs.New()
	part, _, _, done := open(t, m, disk.Options{})
	put(t, part, "key", long(damagedBody))
	done()
	m.Change(named(m, ending)[0], f)
	part, found, _, done := open(t, m, disk.Options{})
	t.Cleanup(done)
	return part, found, m
}

// flip returns a function that changes the byte at that offset.
func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		b[at] ^= 0x20
		return b
	}
}

// A head with any byte changed, removed or added is refused and deleted.
func TestDamagedHead(t *testing.T) {
	size := 0
	damaged(t, ".head", func(b []byte) []byte { size = len(b); return b })
	f := func(name string, change func([]byte) []byte) {
		t.Helper()
		part, found, m := damaged(t, ".head", change)
		if len(found) != 0 || part.Stats().Refused != 1 || len(m.Files()) != 0 || part.Stats().Bytes != 0 {
			t.Errorf("%s: %d found, %+v, files %q; want all removed", name, len(found), part.Stats(), m.Files())
		}
	}
	for i := range size {
		f(fmt.Sprintf("byte %d changed", i), flip(i))
		f(fmt.Sprintf("cut at %d", i), func(b []byte) []byte { return b[:i] })
	}
	f("longer", func(b []byte) []byte { return append(b, 0) })
	f("zeros", func(b []byte) []byte { clear(b); return b })
	f("huge", func(b []byte) []byte { return make([]byte, 5<<20) })
}

// A body of another length is refused and deleted.
func TestDamagedLength(t *testing.T) {
	f := func(name string, change func([]byte) []byte) {
		t.Helper()
		part, found, m := damaged(t, ".body", change)
		if len(found) != 0 || part.Stats().Refused != 1 || len(m.Files()) != 0 {
			t.Errorf("%s: %d found, %+v, files %q; want all removed", name, len(found), part.Stats(), m.Files())
		}
	}
	for _, n := range []int{0, 1, damagedBody - 1, damagedBody, damagedSize - 1} {
		f(fmt.Sprintf("cut at %d", n), func(b []byte) []byte { return b[:n] })
	}
	f("longer", func(b []byte) []byte { return append(b, 0) })
}

// Damaged data is detected by reads of its block only; damaged checksums by all reads.
func TestDamagedBody(t *testing.T) {
	body := long(damagedBody)
	f := func(at int, good, bad [][2]int64) {
		t.Helper()
		part, found, m := damaged(t, ".body", flip(at))
		if len(found) != 1 {
			t.Fatalf("byte %d: %d found, want 1", at, len(found))
		}
		file := found[0].File
		for _, r := range good {
			if got, err := read(file, r[0], r[1]); err != nil || got != body[r[0]:r[0]+r[1]] {
				t.Errorf("byte %d: reading %v: %v", at, r, err)
			}
		}
		for _, r := range bad {
			if got, err := read(file, r[0], r[1]); !errors.Is(err, disk.ErrDamaged) || !strings.HasPrefix(body[r[0]:], got) {
				t.Errorf("byte %d: reading %v: %d bytes, %v", at, r, len(got), err)
			}
		}
		file.Damaged()
		if s := part.Stats(); s.Damaged != 1 || s.Files != 0 || len(m.Files()) != 0 {
			t.Errorf("byte %d: got %+v, files %q; want the body removed", at, s, m.Files())
		}
	}
	first, second, third, whole := [2]int64{0, 1}, [2]int64{65_536, 65_536}, [2]int64{damagedBody - 1, 1}, [2]int64{0, damagedBody}
	// Blocks read together are checked together: up to four.
	f(0, [][2]int64{second, third}, [][2]int64{first, whole})
	f(65_535, [][2]int64{second, third}, [][2]int64{first, whole})
	f(65_536, [][2]int64{third}, [][2]int64{first, second, whole})
	f(131_072, nil, [][2]int64{first, second, third, whole})
	f(damagedBody-1, nil, [][2]int64{third, whole})
	for at := damagedBody; at < damagedSize; at++ {
		f(at, nil, [][2]int64{first, second, third, whole})
	}
}

// A failed read counts as damage. A dropped body is reported as gone.
func TestUnreadableBody(t *testing.T) {
	m := memfs.New()
	part, _, _, done := open(t, m, disk.Options{})
	defer done()
	f := put(t, part, "key", "body")
	for _, op := range []string{"open", "read"} {
		m.Fail(func(o, _ string) error {
			if o == op {
				return errors.New("broken")
			}
			return nil
		})
		if _, err := read(f, 0, 4); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("after a failed %s the error is %v, want %v", op, err, disk.ErrDamaged)
		}
	}
	m.Fail(nil)
	f.Drop()
	if _, err := read(f, 0, 4); !errors.Is(err, disk.ErrGone) {
		t.Errorf("reading a dropped body: got %v, want %v", err, disk.ErrGone)
	}
}

// Unrelated files are ignored, and incomplete files of the package are removed.
func TestUnrelatedFiles(t *testing.T) {
	name := "00000000000000aa"
	f := func(file string, kept bool) {
		t.Helper()
		m := memfs.New()
		h, err := m.Create(filepath.Join(dir, "p", file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.WriteAt([]byte("something"), 0); err != nil {
			t.Fatal(err)
		}
		part, found, _, done := open(t, m, disk.Options{})
		defer done()
		if refused := part.Stats().Refused; len(found) != 0 || (len(m.Files()) == 1) != kept || (refused == 0) != kept {
			t.Errorf("%s: %d found, %d refused, files %q; want it kept: %v", file, len(found), refused, m.Files(), kept)
		}
	}
	f("notes.txt", true)
	f(strings.ToUpper(name)+".body", true)
	f(name, true)
	f(name+".body.old", true)
	f("x"+name+".head", true)
	f(name+".body", false)
	f(name+".head", false)
	f(name+".tmp", false)
}

// A head under another body's name is refused.
func TestSwappedHead(t *testing.T) {
	m := memfs.New()
	part, _, _, done := open(t, m, disk.Options{})
	put(t, part, "a", "1")
	put(t, part, "b", "2")
	done()
	heads := named(m, ".head")
	var first []byte
	m.Change(heads[0], func(b []byte) []byte { first = b; return b })
	m.Change(heads[1], func(b []byte) []byte { return append([]byte(nil), first...) })
	part, found, _, done := open(t, m, disk.Options{})
	defer done()
	if len(found) != 1 || part.Stats().Refused != 1 {
		t.Errorf("%d found, %+v; want 1 found and 1 refused", len(found), part.Stats())
	}
}

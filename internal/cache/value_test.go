//go:build !kasokubroken

package cache

import (
	"testing"
	"time"
	"unsafe"
)

// A value is kept beside the payload, and only entries that have one pay for it.
func TestValue(t *testing.T) {
	c, s := open(t, Config{})
	if size := unsafe.Sizeof(Entry{}); size != 96 {
		t.Errorf("an entry has %d bytes; the measured figures are for 96", size)
	}
	value := &struct{ n int }{7}
	st := c.Note(tags("item x", "table")...)
	e, stored := s.Store(st, []byte("x"), &Filling{Payload: []byte("p"), Value: value, Weight: 1000, TTL: time.Hour})
	if !stored {
		t.Fatal("not stored")
	}
	got, found, _ := s.Lookup([]byte("x"), c.Now())
	if found != Fresh || got != e || got.Value() != any(value) || string(got.Payload()) != "p" || string(got.Key()) != "x" {
		t.Fatalf("found %d, value %v, payload %q, key %q", found, got.Value(), got.Payload(), got.Key())
	}
	keep(t, s, "plain", "p", "item y")
	if plain, _, _ := s.Lookup([]byte("plain"), c.Now()); plain.Value() != nil {
		t.Errorf("an entry without a value has %v", plain.Value())
	}
	c.Apply(Change{Tags: tags("table")})
	if _, found, _ := s.Lookup([]byte("x"), c.Now()); found != Invalidated {
		t.Errorf("an entry with a value after a write of its second tag: got state %d", found)
	}
}

// A value's weight counts towards the memory, and ends with a replacement.
func TestWeightOfValue(t *testing.T) {
	c, s := open(t, Config{})
	put := func(weight int64) uint64 {
		s.Store(c.Note(tags("item x")...), []byte("x"), &Filling{Value: s, Weight: weight, TTL: time.Hour})
		s.store.otter.CleanUp()
		return s.Usage().Bytes
	}
	small, large := put(0), put(1<<20)
	if large-small != 1<<20 {
		t.Errorf("a value of 1 MiB weighs %d more than one of 0", large-small)
	}
	if again := put(0); again != small {
		t.Errorf("after its replacement: got %d bytes, want %d", again, small)
	}
}

// Drop removes only the given entry, not one stored later under its key.
func TestDrop(t *testing.T) {
	c, s := open(t, Config{})
	keep(t, s, "x", "old", "item x")
	old, _, _ := s.Lookup([]byte("x"), c.Now())
	keep(t, s, "x", "new", "item x")
	if s.Drop([]byte("x"), old) {
		t.Error("dropped an entry that had been replaced")
	}
	e, found, _ := s.Lookup([]byte("x"), c.Now())
	if found != Fresh || string(e.Payload()) != "new" {
		t.Fatalf("got state %d", found)
	}
	if !s.Drop([]byte("x"), e) {
		t.Error("not dropped")
	}
	if _, found, _ := s.Lookup([]byte("x"), c.Now()); found != Absent {
		t.Errorf("state after the drop: got %d", found)
	}
}

// Entries visits the entries of its space only.
func TestEntries(t *testing.T) {
	c, s := open(t, Config{})
	other := space(t, c, 0)
	keep(t, s, "a", "1", "item a")
	keep(t, s, "b", "2", "item b")
	keep(t, other, "c", "3", "item c")
	seen := map[string]string{}
	s.Entries(func(e *Entry) bool {
		seen[string(e.Key())] = string(e.Payload())
		return true
	})
	if len(seen) != 2 || seen["a"] != "1" || seen["b"] != "2" {
		t.Errorf("visited %v", seen)
	}
	n := 0
	s.Entries(func(*Entry) bool { n++; return false })
	if n != 1 {
		t.Errorf("visited %d entries, want 1: the function returned false", n)
	}
}

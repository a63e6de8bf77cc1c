package memory

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// contents returns all keys and values within the bounds, forwards or backwards.
func contents(t rapid.TB, r kv.Reader, lower, upper string, backwards bool) []string {
	t.Helper()
	it, err := r.Iter([]byte(lower), []byte(upper))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	first, next := it.First, it.Next
	if backwards {
		first, next = it.Last, it.Prev
	}
	list := []string{}
	for ok := first(); ok; ok = next() {
		list = append(list, string(it.Key())+"="+string(it.Value()))
	}
	return list
}

// expected returns what contents must return for a model.
func expected(model map[string]string, lower, upper string, backwards bool) []string {
	list := []string{}
	for _, key := range slices.Sorted(maps.Keys(model)) {
		if lower <= key && key < upper {
			list = append(list, key+"="+model[key])
		}
	}
	if backwards {
		slices.Reverse(list)
	}
	return list
}

// pastState is a state of the DB that must not change, and its contents.
type pastState struct {
	kv.Reader
	model map[string]string
}

// TestModel compares a DB with a map. All earlier states, and DBs that were opened from them,
// keep their contents.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.Map(rapid.IntRange(0, 400), func(n int) string { return fmt.Sprintf("k%03d", n) })
		db, model := New(), map[string]string{}
		var states []pastState
		var saved map[string]string // nil if nothing is saved
		check := func(s pastState) {
			lower, upper, backwards := keys.Draw(t, "lower"), keys.Draw(t, "upper"), rapid.Bool().Draw(t, "backwards")
			if got, want := contents(t, s, lower, upper, backwards), expected(s.model, lower, upper, backwards); !slices.Equal(got, want) {
				t.Fatalf("from %s to %s, backwards: %t:\ngot  %q\nwant %q", lower, upper, backwards, got, want)
			}
			v, ok, err := s.Get([]byte(lower))
			want, there := s.model[lower]
			if err != nil || ok != there || string(v.Bytes) != want {
				t.Fatalf("%s: got %q %t, want %q %t", lower, v.Bytes, ok, want, there)
			}
		}
		write := func(t *rapid.T) {
			b := db.NewBatch()
			defer b.Close()
			for range rapid.IntRange(1, 40).Draw(t, "writes") {
				key := []byte(keys.Draw(t, "key"))
				switch rapid.IntRange(0, 9).Draw(t, "kind") {
				case 0:
					upper := keys.Draw(t, "to")
					b.DeleteRange(key, []byte(upper))
					maps.DeleteFunc(model, func(k, _ string) bool { return string(key) <= k && k < upper })
				case 1, 2:
					b.Delete(key)
					delete(model, string(key))
				default:
					value := rapid.StringN(0, 3, 9).Draw(t, "value")
					b.Set(key, []byte(value))
					model[string(key)] = value
				}
				key[0] = 'x' // the batch has copied it
			}
			if err := kv.Commit(db, b); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":      func(*rapid.T) { check(pastState{db, model}) },
			"write": write,
			"fill": func(t *rapid.T) {
				b := db.NewBatch()
				for i := range 400 {
					b.Set(fmt.Appendf(nil, "k%03d", i), nil)
					model[fmt.Sprintf("k%03d", i)] = ""
				}
				if err := kv.Commit(db, b); err != nil {
					t.Fatal(err)
				}
			},
			"snapshot": func(*rapid.T) { states = append(states, pastState{db.Snapshot(), maps.Clone(model)}) },
			"fork": func(*rapid.T) {
				states = append(states, pastState{db, maps.Clone(model)})
				db, saved = db.Fork().(*DB), nil
			},
			"save": func(t *rapid.T) {
				if err := db.Save("name"); err != nil {
					t.Fatal(err)
				}
				saved = maps.Clone(model)
			},
			"restore": func(t *rapid.T) {
				states = append(states, pastState{db.Snapshot(), maps.Clone(model)})
				if err := db.Restore("name"); err != nil && !errors.Is(err, kv.ErrNotSaved) || (err == nil) != (saved != nil) {
					t.Fatalf("%v, saved: %t", err, saved != nil)
				}
				if saved != nil {
					model = maps.Clone(saved)
				}
			},
			"reset": func(t *rapid.T) {
				if err := db.Restore(kv.Empty); err != nil {
					t.Fatal(err)
				}
				model = map[string]string{}
			},
			"old states": func(t *rapid.T) {
				for _, s := range states {
					check(s)
				}
			},
		})
	})
}

// TestSums adds to sums from several goroutines.
func TestSums(t *testing.T) {
	db, key := New(), []byte("sums")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				b := db.NewBatch()
				b.Add(key, kv.Sums{1, -3})
				if err := kv.Commit(db, b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got, err := kv.ReadSums(db, key); err != nil || got != (kv.Sums{400, -1200}) {
		t.Errorf("got %v %v", got, err)
	}
	if got, err := kv.ReadSums(db, []byte("other")); err != nil || got != (kv.Sums{}) {
		t.Errorf("got %v %v for sums that nothing was added to", got, err)
	}
}

// TestFailedBatch checks that nothing of a batch that fails is visible, then or later.
func TestFailedBatch(t *testing.T) {
	db := New()
	b := db.NewBatch()
	b.Set([]byte("a"), []byte("no sums"))
	b.Set([]byte("b"), []byte("1"))
	if err := kv.Commit(db, b); err != nil {
		t.Fatal(err)
	}
	b = db.NewBatch()
	b.Set([]byte("b"), []byte("2"))
	b.Add([]byte("a"), kv.Sums{1, 1})
	if err := kv.Commit(db, b); err == nil {
		t.Fatal("adding to a value that has no sums succeeded")
	}
	b = db.NewBatch()
	b.Set([]byte("c"), []byte("3"))
	if err := kv.Commit(db, b); err != nil {
		t.Fatal(err)
	}
	want := []string{"a=no sums", "b=1", "c=3"}
	if got := contents(t, db, "", "z", false); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForks writes to DBs that share a state, all at once.
func TestForks(t *testing.T) {
	parent := New()
	b := parent.NewBatch()
	for i := range 1000 {
		b.Set(fmt.Appendf(nil, "k%03d", i), []byte("parent"))
	}
	if err := kv.Commit(parent, b); err != nil {
		t.Fatal(err)
	}
	before := contents(t, parent, "", "z", false)
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			db, own := parent.Fork(), fmt.Appendf(nil, "fork %d", n)
			for i := range 200 {
				b := db.NewBatch()
				b.Set(fmt.Appendf(nil, "k%03d", i*5), own)
				if err := kv.Commit(db, b); err != nil {
					t.Error(err)
				}
			}
			for i := range 1000 {
				want := []byte("parent")
				if i%5 == 0 {
					want = own
				}
				if v, _, _ := db.Get(fmt.Appendf(nil, "k%03d", i)); !bytes.Equal(v.Bytes, want) {
					t.Errorf("fork %d, key %d: got %q", n, i, v.Bytes)
				}
			}
		})
	}
	group.Wait()
	if after := contents(t, parent, "", "z", false); !slices.Equal(before, after) {
		t.Error("the parent has changed")
	}
}

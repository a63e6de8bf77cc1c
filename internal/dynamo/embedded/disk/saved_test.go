package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// all returns all keys and values.
func all(t *testing.T, r kv.Reader) string {
	t.Helper()
	it, err := r.Iter(span.Start, span.End)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var b strings.Builder
	for ok := it.First(); ok; ok = it.Next() {
		fmt.Fprintf(&b, "%s=%s ", it.Key(), it.Value())
	}
	if err := it.Error(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSaved saves and restores contents, in the process that saved them and in later ones.
func TestSaved(t *testing.T) {
	f := func(name string, open func(t *testing.T) *DB) {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			must(t, d.Save("nothing"))
			must(t, d.set("a", "1"))
			b := d.NewBatch()
			b.Add([]byte("sums"), kv.Sums{5, 7})
			must(t, kv.Commit(d, b))
			b.Close()
			must(t, d.db.Flush()) // so that a part is in a table
			must(t, d.set("b", "1"))
			before := all(t, d)
			must(t, d.Save("first"))
			must(t, d.set("a", "2"))
			must(t, d.set("c", "2"))
			must(t, d.Save("second"))
			after := all(t, d)
			d.Close()
			for range 2 {
				d = open(t)
				for _, step := range []struct{ name, want string }{
					{"first", before}, {"second", after}, {"nothing", ""}, {"first", before}, {kv.Empty, ""}, {"second", after},
				} {
					must(t, d.Restore(step.name))
					if got := all(t, d); got != step.want {
						t.Fatalf("%q: got %q, want %q", step.name, got, step.want)
					}
				}
				must(t, d.Restore("first"))
				b := d.NewBatch()
				b.Add([]byte("sums"), kv.Sums{1, 1})
				must(t, kv.Commit(d, b))
				b.Close()
				if got, err := kv.ReadSums(d, []byte("sums")); err != nil || got != (kv.Sums{6, 8}) {
					t.Errorf("restored sums are %v, %v", got, err)
				}
				must(t, d.Restore("first"))
				d.Close()
			}
			d = open(t)
			defer d.Close()
			if got := all(t, d); got != before {
				t.Errorf("after a restart: got %q, want %q", got, before)
			}
			must(t, d.Save("second")) // replaces the earlier one
			must(t, d.Restore(kv.Empty))
			must(t, d.Restore("second"))
			if got := all(t, d); got != before {
				t.Errorf("saved again: got %q, want %q", got, before)
			}
			must(t, d.Forget("first"))
			if err := errors.Join(d.Restore("first"), d.Forget("first")); !errors.Is(err, kv.ErrNotSaved) {
				t.Errorf("a snapshot that was removed: %v", err)
			}
			list, err := d.Saved()
			if err != nil || len(list) != 2 || list[0].Name != "nothing" || list[1].Name != "second" || list[0].At.IsZero() {
				t.Errorf("saved: %v, %v", list, err)
			}
		})
	}
	fs := vfs.NewMem()
	f("in memory", func(t *testing.T) *DB { return openAs(t, Options{FS: fs}) })
	t.Chdir(t.TempDir())
	f("on disk", func(t *testing.T) *DB { return openAs(t, Options{}) })
}

// failingRename is a file system whose renames to a path fail.
type failingRename struct {
	vfs.FS
	to string
}

func (f *failingRename) Rename(from, to string) error {
	if to == f.to {
		return errors.New("no rename")
	}
	return f.FS.Rename(from, to)
}

// TestReplacedSnapshot checks that a snapshot is kept until another one has replaced it: if its
// replacement fails, and if the process ends before it is complete.
func TestReplacedSnapshot(t *testing.T) {
	mem := vfs.NewMem()
	fs := &failingRename{FS: mem}
	d := open(t, fs)
	must(t, d.set("a", "1"))
	must(t, d.Save("s"))
	must(t, d.set("a", "2"))
	fs.to = "store/snapshots/s"
	if err := d.Save("s"); err == nil {
		t.Error("a rename has not failed")
	}
	d.Close()
	fs.to = ""
	for _, leftover := range []string{"store/snapshots/.new-s", "store/snapshots/.new-t", "store/snapshots/.old-u"} {
		must(t, mem.MkdirAll(leftover, 0o700))
	}
	must(t, mem.MkdirAll("store/snapshots/u", 0o700))
	d = open(t, fs)
	must(t, d.Restore("s"))
	if got := all(t, d); got != "a=1 " {
		t.Errorf("the earlier snapshot has %q", got)
	}
	must(t, d.set("a", "3"))
	must(t, d.Save("s"))
	must(t, d.Restore("s"))
	if got := all(t, d); got != "a=3 " {
		t.Errorf("the replaced snapshot has %q", got)
	}
	d.Close()
	names, err := mem.List("store/snapshots")
	must(t, err)
	slices.Sort(names)
	if !slices.Equal(names, []string{"s", "u"}) {
		t.Errorf("left: %q", names)
	}
}

// TestDamagedSnapshot checks that a snapshot that can't be read changes nothing.
func TestDamagedSnapshot(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, fs)
	defer d.Close()
	must(t, d.set("a", "1"))
	must(t, d.db.Flush())
	must(t, d.Save("s"))
	names, err := fs.List("store/snapshots/s")
	must(t, err)
	for _, name := range names {
		if isTable(name) {
			must(t, fs.Remove("store/snapshots/s/"+name))
		}
	}
	if err := d.Restore("s"); err == nil || !strings.Contains(err.Error(), "cannot restore the snapshot s") {
		t.Errorf("got %v", err)
	}
	if got := all(t, d); got != "a=1 " {
		t.Errorf("got %q", got)
	}
}

// TestPowerLossDuringRestore cuts the power while contents are restored or removed: afterwards
// the directory has either the old contents or the new ones, and never a part.
func TestPowerLossDuringRestore(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewCrashableMem()
		d := open(t, fs)
		for i := range 20 {
			must(t, d.set(fmt.Sprintf("old%d", i), "x"))
		}
		old := all(t, d)
		must(t, d.Save("old"))
		must(t, d.Restore(kv.Empty))
		for i := range 20 {
			must(t, d.set(fmt.Sprintf("new%d", i), "x"))
		}
		now := all(t, d)
		to, want := "old", old
		if seed%3 == 0 {
			to, want = kv.Empty, ""
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := d.Restore(to); err != nil {
				t.Error(err)
			}
		}()
		if seed%2 == 0 {
			<-done
			now = want // it was acknowledged
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		<-done
		d.Close()
		d = open(t, crashed)
		if got := all(t, d); got != now && got != want {
			t.Errorf("seed %d: got %q", seed, got)
		}
		must(t, d.Restore("old"))
		if got := all(t, d); got != old {
			t.Errorf("seed %d: the snapshot has %q", seed, got)
		}
		d.Close()
	}
}

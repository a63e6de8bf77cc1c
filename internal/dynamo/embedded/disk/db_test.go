package disk

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

func TestReadAndWrite(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, fs)
	b := d.NewBatch()
	for _, k := range []string{"a", "b", "c", "d"} {
		b.Set([]byte(k), []byte("1"+k))
	}
	b.Delete([]byte("d"))
	if err := kv.Commit(d, b); err != nil {
		t.Fatal(err)
	}
	b.Close()

	snap := d.Snapshot()
	b = d.NewBatch()
	b.Set([]byte("a"), []byte("2a"))
	b.DeleteRange([]byte("b"), []byte("c"))
	if err := kv.Commit(d, b); err != nil {
		t.Fatal(err)
	}
	b.Close()
	all := func(r kv.Reader) string {
		t.Helper()
		it, err := r.Iter([]byte("a"), []byte("d"))
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		var got []string
		for ok := it.First(); ok; ok = it.Next() {
			got = append(got, string(it.Key())+"="+string(it.Value()))
		}
		return strings.Join(got, " ")
	}
	if got := all(snap); got != "a=1a b=1b c=1c" {
		t.Errorf("the snapshot has %s", got)
	}
	if got := text(t, snap, "a") + text(t, snap, "d"); got != "1a" {
		t.Errorf("the snapshot has %s", got)
	}
	snap.Close()
	if got := all(d); got != "a=2a c=1c" {
		t.Errorf("the database has %s", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, fs)
	if got := all(d); got != "a=2a c=1c" {
		t.Errorf("after a restart it has %s", got)
	}
	d.Close()
}

// TestSums adds to counters concurrently, through flushes and restarts.
func TestSums(t *testing.T) {
	fs := vfs.NewMem()
	d := open(t, fs)
	key := []byte("n")
	var want kv.Sums
	for round := range 3 {
		var workers sync.WaitGroup
		for w := range 4 {
			workers.Go(func() {
				for i := range 50 {
					b := d.NewBatch()
					b.Add(key, kv.Sums{1, int64(-w * i)})
					if err := kv.Commit(d, b); err != nil {
						t.Error(err)
					}
					b.Close()
				}
			})
			want[0] += 50
			want[1] -= int64(w * 49 * 50 / 2)
		}
		workers.Wait()
		if err := d.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			d.Close()
			d = open(t, fs)
		}
		if got, err := kv.ReadSums(d, key); err != nil || got != want {
			t.Fatalf("round %d: got %v, %v; want %v", round, got, err, want)
		}
	}
	if none, err := kv.ReadSums(d, []byte("other")); err != nil || none != (kv.Sums{}) {
		t.Errorf("no sums: %v, %v", none, err)
	}
	b := d.NewBatch()
	b.Delete(key)
	b.Add(key, kv.Sums{5, 0})
	if err := kv.Commit(d, b); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if got, err := kv.ReadSums(d, key); err != nil || got != (kv.Sums{5, 0}) {
		t.Errorf("after deletion: %v, %v", got, err)
	}
	d.Close()
}

// TestPowerLoss cuts the power at many moments: acknowledged writes are kept, and no batch is
// kept in part.
func TestPowerLoss(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewCrashableMem()
		d := open(t, fs)
		acknowledged := 0
		write := func(i int) {
			b := d.NewBatch()
			defer b.Close()
			b.Set(fmt.Appendf(nil, "x%04d", i), []byte(strings.Repeat("v", rng.IntN(2000))))
			b.Set(fmt.Appendf(nil, "y%04d", i), nil)
			if err := d.Apply(b); err != nil {
				t.Fatal(err)
			}
			if err := d.Wait(b); err != nil {
				t.Fatal(err)
			}
			acknowledged = i + 1
		}
		for i := range 20 + rng.IntN(200) {
			write(i)
			if rng.IntN(60) == 0 {
				if err := d.db.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) * 5, RNG: rng})
		d.Close()
		d = open(t, crashed)
		for i := range acknowledged {
			for _, k := range []string{"x", "y"} {
				v, ok, err := d.Get(fmt.Appendf(nil, "%s%04d", k, i))
				if err != nil || !ok {
					t.Fatalf("seed %d: %s%04d of %d is lost: %v", seed, k, i, acknowledged, err)
				}
				v.Close()
			}
		}
		d.Close()
	}
}

// TestNoSync kills the process with sync off: even a single short write soon reaches the system,
// and the disk.
func TestNoSync(t *testing.T) {
	for _, left := range []int{100, 0} { // percentage of the bytes written since the last sync that is kept
		fs := vfs.NewCrashableMem()
		d := openAs(t, Options{FS: fs, NoSync: true})
		if err := d.set("k", "v"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the write is kept", func() bool {
			after := open(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: left, RNG: rand.New(rand.NewPCG(1, 1))}))
			defer after.Close()
			return text(t, after, "k") == "v"
		})
		d.Close()
	}
}

// TestBarrier cuts the power after waiting for a batch with only a barrier: earlier batches, for
// which no caller waited, are on disk.
func TestBarrier(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := open(t, fs)
	first, mark := d.NewBatch(), d.NewBatch()
	first.Set([]byte("k"), []byte("v"))
	if err := d.Apply(first); err != nil {
		t.Fatal(err)
	}
	mark.Barrier()
	if err := kv.Commit(d, mark); err != nil {
		t.Fatal(err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	if err := d.Wait(first); err != nil {
		t.Fatal(err)
	}
	first.Close()
	mark.Close()
	d.Close()
	d = open(t, crashed)
	if text(t, d, "k") != "v" {
		t.Error("k is lost")
	}
	d.Close()
}

// TestLock checks that Open refuses a directory in use, and names it.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "another process uses this directory") {
		t.Errorf("a second Open: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(dir, Options{}); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	d.Close()
}

func TestFormat(t *testing.T) {
	fs := vfs.NewMem()
	open(t, fs).Close()
	if got, err := readFile(fs, "store/FORMAT"); err != nil || string(got) != "kasoku embedded store, format 3\n" {
		t.Fatalf("FORMAT: %q, %v", got, err)
	}
	refused := func(text, want string) {
		t.Helper()
		if err := writeFile(fs, "store/FORMAT", []byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err := Open("store", Options{FS: fs, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "store") {
			t.Errorf("%q: got %v; want %q", text, err, want)
		}
	}
	refused("kasoku embedded store, format 4\n", "the directory has format 4, and this version of kasoku reads formats up to 3")
	refused("kasoku embedded store, format 0\n", "does not state the format")
	refused("kasoku embedded store, format x\n", "does not state the format")
	refused("something else", "does not state the format")
	refused("", "does not state the format")
	if err := fs.Remove("store/FORMAT"); err != nil {
		t.Fatal(err)
	}
	_, err := Open("store", Options{FS: fs, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "but no file FORMAT") {
		t.Errorf("without FORMAT: %v", err)
	}
	if err := writeFile(fs, "store/FORMAT", []byte("kasoku embedded store, format 2\n")); err != nil {
		t.Fatal(err)
	}
	open(t, fs).Close()
	if got, err := readFile(fs, "store/FORMAT"); err != nil || string(got) != "kasoku embedded store, format 3\n" {
		t.Errorf("FORMAT after a directory of format 2 was opened: %q, %v", got, err)
	}
	open(t, fs).Close()
}

// TestUnusableDirectory checks that the error names a directory that can't be created.
func TestUnusableDirectory(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file+"/store", Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("below a file: %v", err)
	}
}

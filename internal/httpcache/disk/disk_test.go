package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/testutil/memfs"
)

// Exactly the committed bodies are found by the next Open, in order.
func TestReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memfs.New()
		part, found, _, done := open(t, m, disk.Options{})
		if len(found) > 0 {
			t.Fatal("an empty directory has bodies")
		}
		bodies := map[string]string{"one": "1", "block": long(64 << 10), "more": long(300_001)}
		for _, key := range []string{"one", "block", "more"} {
			put(t, part, key, bodies[key])
			time.Sleep(time.Second)
		}
		put(t, part, "dropped", "x").Drop()
		if err := put(t, part, "stale", "x").Rewrite([]byte("other"), true); err != nil {
			t.Fatal(err)
		}
		if _, err := write(part, "not committed"); err != nil {
			t.Fatal(err)
		}
		done()
		part, found, _, done = open(t, m, disk.Options{})
		defer done()
		var got []string
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s: %s, %v", f.File.Key(), f.Meta, f.Stale))
			want, ok := bodies[string(f.File.Key())]
			if text, err := read(f.File, 0, f.File.Len()); ok && (err != nil || text != want) {
				t.Errorf("%s: read %d bytes, %v; want %d", f.File.Key(), len(text), err, len(want))
			}
		}
		want := []string{"one: about one, false", "block: about block, false", "more: about more, false", "stale: other, true"}
		if !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		if s := part.Stats(); s.Files != 4 || s.Refused != 1 || len(m.Files()) != 8 {
			t.Errorf("got %+v and the files %q, want 4 bodies", s, m.Files())
		}
	})
}

func TestRanges(t *testing.T) {
	part, _, _, done := open(t, memfs.New(), disk.Options{})
	defer done()
	body := long(600_000)
	f := put(t, part, "k", body)
	for _, r := range [][2]int64{{0, 1}, {0, 600_000}, {65_535, 2}, {65_536, 65_536}, {262_143, 3}, {599_999, 1}, {500_000, 100_000}} {
		if got, err := read(f, r[0], r[1]); err != nil || got != body[r[0]:r[0]+r[1]] {
			t.Errorf("range %v: got %d wrong bytes, %v", r, len(got), err)
		}
	}
}

// A body that is being written can be read up to its last complete block.
func TestReadWhileWritten(t *testing.T) {
	part, _, _, done := open(t, memfs.New(), disk.Options{})
	defer done()
	w, err := part.Create(-1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	body, buf := long(200_000), make([]byte, disk.BlockSize)
	for at := 0; at < len(body); at += 40_000 {
		if _, err := w.Write([]byte(body[at : at+40_000])); err != nil {
			t.Fatal(err)
		}
		if want := int64(at+40_000) / disk.BlockSize * disk.BlockSize; w.Checked() != want {
			t.Fatalf("%d of %d bytes are checked, want %d", w.Checked(), at+40_000, want)
		}
		for off := int64(0); off < w.Checked(); {
			b, err := w.ReadSome(off, buf)
			if err != nil || len(b) == 0 || string(b) != body[off:off+int64(len(b))] {
				t.Fatalf("at %d: %d bytes, %v", off, len(b), err)
			}
			off += int64(len(b))
		}
	}
	w.Discard()
	if b, err := w.ReadSome(70_000, buf); err != nil || string(b) != body[70_000:131_072] {
		t.Errorf("after Discard: %d bytes, %v", len(b), err)
	}
	if s := part.Stats(); s.Bytes != 0 || s.Files != 0 {
		t.Errorf("got %+v", s)
	}
}

const pageBody = 3000 // a body of that size takes two pages, with its head

// Bodies that were not read are evicted first.
func TestEviction(t *testing.T) {
	m := memfs.New()
	part, _, evicted, done := open(t, m, disk.Options{Size: 4 * 8192, MaxBody: 1 << 20})
	defer done()
	files := map[string]*disk.File{}
	for _, key := range []string{"a", "b", "c", "d"} {
		files[key] = put(t, part, key, long(pageBody))
	}
	for _, key := range []string{"a", "c"} {
		if _, err := read(files[key], 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"e", "f"} {
		files[key] = put(t, part, key, long(pageBody))
	}
	if got := strings.Join(*evicted, " "); got != "b d" {
		t.Errorf("evicted %s, want b d", got)
	}
	if !files["b"].Gone() || files["a"].Gone() {
		t.Error("Gone does not agree with the eviction")
	}
	if _, err := write(part, long(40_000)); !errors.Is(err, disk.ErrFull) {
		t.Errorf("a body that exceeds the size of the tier: got %v, want %v", err, disk.ErrFull)
	}
	if s := part.Stats(); s.Bytes > s.Size || s.Files != 4 || s.Evicted != 2 || s.Trouble != nil {
		t.Errorf("got %+v", s)
	}
	if _, err := part.Create(1<<20 + 1); !errors.Is(err, disk.ErrFull) {
		t.Errorf("a body longer than MaxBody: got %v, want %v", err, disk.ErrFull)
	}
	if n := len(named(m, ".body")); n != 4 {
		t.Errorf("the directory has %d bodies, want 4", n)
	}
	for part.EvictOne() {
	}
	if s := part.Stats(); s.Bytes != 0 || s.Files != 0 {
		t.Errorf("after all were evicted: %+v", s)
	}
}

// A tier that is opened with a smaller size evicts at once.
func TestEvictionAfterRestart(t *testing.T) {
	m := memfs.New()
	part, _, _, done := open(t, m, disk.Options{})
	for i := range 10 {
		put(t, part, fmt.Sprint(i), long(pageBody))
	}
	done()
	part, found, _, done := open(t, m, disk.Options{Size: 3 * 8192})
	defer done()
	if s := part.Stats(); len(found) != 3 || s.Files != 3 || s.Bytes > s.Size {
		t.Errorf("%d found, %+v", len(found), s)
	}
}

// After a failed write nothing is written for ten seconds. Stored bodies can be read.
func TestPauseAfterError(t *testing.T) {
	for _, op := range []string{"create", "write", "rename"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := memfs.New()
				var reported []error
				part, _, _, done := open(t, m, disk.Options{Report: func(err error) { reported = append(reported, err) }})
				defer done()
				old := put(t, part, "old", "before")
				m.Fail(func(o, _ string) error {
					if o == op {
						return syscall.ENOSPC
					}
					return nil
				})
				f, err := write(part, long(200_000))
				if op == "rename" && err == nil {
					err = f.Commit([]byte("k"), nil, false)
				}
				if !errors.Is(err, syscall.ENOSPC) || len(reported) != 1 {
					t.Fatalf("the error is %v, reported %v; want ENOSPC, reported once", err, reported)
				}
				m.Fail(nil)
				if _, err := write(part, "x"); !errors.Is(err, disk.ErrPaused) {
					t.Errorf("a second write at once: got %v, want %v", err, disk.ErrPaused)
				}
				if got, err := read(old, 0, 6); got != "before" {
					t.Errorf("reading the stored body: %q, %v", got, err)
				}
				if s := part.Stats(); s.Trouble == nil || s.Failed != 1 || s.Files != 1 {
					t.Errorf("got %+v", s)
				}
				time.Sleep(10 * time.Second)
				put(t, part, "new", "after")
				if s := part.Stats(); s.Trouble != nil || s.Files != 2 {
					t.Errorf("after the pause: %+v", s)
				}
				if n := len(m.Files()); n != 4 {
					t.Errorf("the files are %q, want 4", m.Files())
				}
			})
		})
	}
}

// A file that can't be removed makes Sync fail until it can.
func TestUnremovableFile(t *testing.T) {
	m := memfs.New()
	part, _, _, done := open(t, m, disk.Options{})
	defer done()
	f := put(t, part, "k", "x")
	m.Fail(func(op, name string) error {
		if op == "remove" && strings.HasSuffix(name, ".head") {
			return syscall.EIO
		}
		return nil
	})
	f.Drop()
	if err := part.SyncKey([]byte("k")); !errors.Is(err, syscall.EIO) || part.Stats().Stuck != 1 {
		t.Errorf("SyncKey returned %v, stats %+v; want EIO and 1 stuck", err, part.Stats())
	}
	m.Fail(nil)
	if err := part.Sync(); err != nil || part.Stats().Stuck != 0 || len(m.Files()) > 0 {
		t.Errorf("Sync returned %v, stats %+v, files %q", err, part.Stats(), m.Files())
	}
	f = put(t, part, "k", "x")
	m.Fail(func(op, _ string) error {
		if op == "syncdir" {
			return syscall.EIO
		}
		return nil
	})
	f.Drop()
	if err := part.SyncKey([]byte("k")); !errors.Is(err, syscall.EIO) {
		t.Errorf("SyncKey with a failed sync of the directory returned %v, want EIO", err)
	}
	m.Fail(nil)
	if err := part.SyncKey([]byte("k")); err != nil {
		t.Error(err)
	}
}

// Bodies dropped or made stale before Sync remain so after any crash of the machine.
func TestSyncAfterCrash(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		m := memfs.New()
		part, _, _, _ := open(t, m, disk.Options{})
		gone, stale := put(t, part, "gone", "1"), put(t, part, "stale", "2")
		gone.Drop()
		if err := stale.Rewrite([]byte("new"), true); err != nil {
			t.Fatal(err)
		}
		if err := part.Sync(); err != nil {
			t.Fatal(err)
		}
		put(t, part, "later", long(70_000))
		_, found, _, done := open(t, m.Crash(true, random.Intn), disk.Options{})
		for _, f := range found {
			switch key := string(f.File.Key()); {
			case key == "gone":
				t.Errorf("seed %d: the dropped body is found", seed)
			case key == "stale" && !(f.Stale && string(f.Meta) == "new"):
				t.Errorf("seed %d: the stale body has the meta %s and stale %v", seed, f.Meta, f.Stale)
			}
			if got, err := read(f.File, 0, f.File.Len()); err == nil && got != "2" && got != long(70_000) {
				t.Errorf("seed %d: damage was not detected", seed)
			}
		}
		done()
	}
}

// ignore is called with evicted files.
func ignore(*disk.File) {}

// A directory is used by one tier at a time.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	a, err := disk.Open(dir, disk.Options{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Open(dir, disk.Options{Size: 1 << 20}); !errors.Is(err, disk.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("opening the directory again returned %v, want %v with its path", err, disk.ErrLocked)
	}
	if _, _, err := a.Part("p", ignore); err != nil {
		t.Error(err)
	}
	if _, _, err := a.Part("p", ignore); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("opening a part again returned %v, want %v", err, disk.ErrLocked)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if a, err = disk.Open(dir, disk.Options{Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	a.Close()
}

// Files are readable only by their owner.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	tier, err := disk.Open(dir, disk.Options{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer tier.Close()
	part, _, err := tier.Part("p", ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	f := put(t, part, "k", "secret")
	if got, err := read(f, 0, 6); got != "secret" {
		t.Errorf("read %q, %v", got, err)
	}
	seen := 0
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		seen++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode())
		}
		return nil
	})
	if err != nil || seen != 5 {
		t.Errorf("found %d files, %v; want 5", seen, err)
	}
	f.Drop()
	if err := part.Sync(); err != nil {
		t.Error(err)
	}
}

// Prune removes unused parts, and keeps open parts and unrelated files.
func TestPrune(t *testing.T) {
	m := memfs.New()
	tier, err := disk.Open(dir, disk.Options{Size: 1 << 20, FS: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kept", "open", "old"} {
		part, _, err := tier.Part(name, ignore)
		if err != nil {
			t.Fatal(err)
		}
		put(t, part, "k", name)
		if name != "open" {
			part.Close()
		}
	}
	note, _ := m.Create(filepath.Join(dir, "old", "note"))
	note.Close()
	tier.Prune(func(name string) bool { return name == "kept" })
	for part, n := range map[string]int{"kept": 2, "open": 2, "old": 1} {
		names, err := m.Names(filepath.Join(dir, part))
		if err != nil || len(names) != n {
			t.Errorf("part %s has the files %q, %v; want %d", part, names, err, n)
		}
	}
}

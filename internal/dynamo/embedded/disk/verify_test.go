package disk

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// everything keeps all writes, synced or not, as when only the process is killed.
func everything() vfs.CrashCloneCfg {
	return vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
}

// killed returns the file system of a process that was killed after it had written two values,
// and the name of its log.
func killed(t *testing.T) (fs *vfs.MemFS, log string) {
	t.Helper()
	running := vfs.NewCrashableMem()
	d := open(t, running)
	for _, key := range []string{"a", "b"} {
		if err := d.set(key, "value of "+key); err != nil {
			t.Fatal(err)
		}
	}
	fs = running.CrashClone(everything())
	d.Close()
	names, err := fs.List("store")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, ".log") })
	return fs, "store/" + names[i]
}

// change replaces a file's contents.
func change(t *testing.T, fs vfs.FS, name string, by func(text []byte) []byte) {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := writeFile(fs, name, by(text)); err != nil {
		t.Fatal(err)
	}
}

// torn returns the beginning of a chunk of a log.
func torn(log uint32, length, written int) []byte {
	chunk := bytes.Repeat([]byte{'x'}, written)
	copy(chunk, "crc.")
	binary.LittleEndian.PutUint16(chunk[4:], uint16(length))
	chunk[6] = firstLogKind
	binary.LittleEndian.PutUint32(chunk[logNumberOffset:], log)
	return chunk
}

// TestTornEnd kills processes while they write. Acknowledged writes are kept, and discarded
// bytes are logged with their number.
func TestTornEnd(t *testing.T) {
	const number = 2 // of the first log
	f := func(name string, want string, tail ...[]byte) {
		t.Run(name, func(t *testing.T) {
			fs, log := killed(t)
			if log != "store/000002.log" {
				t.Fatal(log)
			}
			change(t, fs, log, func(text []byte) []byte { return append(text, bytes.Join(tail, nil)...) })
			var logged bytes.Buffer
			d, err := Open("store", Options{FS: fs, Log: slog.New(slog.NewTextHandler(&logged, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if got := text(t, d, "a") + ", " + text(t, d, "b"); got != "value of a, value of b" {
				t.Errorf("the database has %q", got)
			}
			if !strings.Contains(logged.String(), want) || want == "" && logged.Len() > 0 {
				t.Errorf("got the log %q; want %q", logged.String(), want)
			}
		})
	}
	f("between writes", "")
	f("with room that was allocated ahead", "", make([]byte, 5000))
	f("in a write", "level=WARN msg=\"embedded store: the end of the log was not written completely and is discarded; it was not acknowledged as being on disk\" file=store/000002.log", torn(number, 200, 120))
	f("the bytes are counted", "bytes=120", torn(number, 200, 120))
	f("and not those that were never written", "bytes=23", torn(number, 200, 23), make([]byte, 400))
}

// TestDamagedEnd damages the last acknowledged write: Open returns an error.
func TestDamagedEnd(t *testing.T) {
	f := func(name, want string, damage func(text []byte) []byte) {
		t.Run(name, func(t *testing.T) {
			fs, log := killed(t)
			change(t, fs, log, damage)
			_, err := Open("store", Options{FS: fs, Log: slog.New(slog.DiscardHandler)})
			if err == nil || !strings.Contains(err.Error(), "store/000002.log is damaged at byte") || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v; want %q", err, want)
			}
		})
	}
	f("a bit", "bytes of it were synced", func(text []byte) []byte { text[len(text)-3] ^= 4; return text })
	f("cut", "bytes of it were synced", func(text []byte) []byte { return text[:len(text)-1] })
	f("empty", "damaged at byte 0", func([]byte) []byte { return nil })
	f("cleared", "bytes of it were synced", func(text []byte) []byte { clear(text[len(text)-30:]); return text })
}

// TestRecycledLogs writes until log files are recycled, and kills the process: the previous
// contents of such a file are not mistaken for an interrupted write.
func TestRecycledLogs(t *testing.T) {
	running := vfs.NewCrashableMem()
	d := open(t, running)
	value := strings.Repeat("v", 30_000)
	recycled := func() bool {
		d.integrity.logsMu.Lock()
		defer d.integrity.logsMu.Unlock()
		return slices.ContainsFunc(d.integrity.facts.logs, func(l logState) bool { return l.recycled && l.length > 0 })
	}
	for i := 0; !recycled(); i++ {
		if i > 3000 {
			t.Fatal("no log was recycled")
		}
		if err := d.set("k", value); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.set("last", "value"); err != nil {
		t.Fatal(err)
	}
	fs := running.CrashClone(everything())
	d.Close()
	var logged bytes.Buffer
	d, err := Open("store", Options{FS: fs, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if text(t, d, "last") != "value" || logged.Len() > 0 {
		t.Errorf("got last = %q and the log %s", text(t, d, "last"), &logged)
	}
}

// TestInterruptedCreation opens directories whose first start was interrupted by power loss,
// at every step.
func TestInterruptedCreation(t *testing.T) {
	steps := &stepping{}
	running := vfs.NewCrashableMem()
	steps.FS = running
	steps.step = func() {
		for _, percent := range []int{0, 100} {
			crashed := running.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
			d := open(t, crashed)
			if err := d.set("k", "v"); err != nil {
				t.Error(err)
			}
			d.Close()
			d = open(t, crashed)
			if text(t, d, "k") != "v" {
				t.Error("k is lost")
			}
			d.Close()
		}
	}
	open(t, steps).Close()
	if steps.n < 10 {
		t.Errorf("there were only %d steps", steps.n)
	}
}

// stepping calls step before each creation, renaming and removal of a file.
type stepping struct {
	vfs.FS
	step func()
	n    int
}

func (s *stepping) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	s.n++
	s.step()
	return s.FS.Create(name, c)
}

func (s *stepping) Rename(oldname, newname string) error {
	s.n++
	s.step()
	return s.FS.Rename(oldname, newname)
}

func (s *stepping) Remove(name string) error {
	s.n++
	s.step()
	return s.FS.Remove(name)
}

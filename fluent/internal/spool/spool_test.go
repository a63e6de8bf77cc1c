package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/race"
)

func open(t testing.TB, dir string, o Options) *Spool {
	t.Helper()
	s, _, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestOnDisk uses the operating system's files: several segments, with a restart between them, and
// no file is left at the end.
func TestOnDisk(t *testing.T) {
	for _, sync := range []time.Duration{SyncAlways, SyncNever, time.Hour} {
		dir := filepath.Join(t.TempDir(), "a", "spool")
		o := Options{MaxBytes: 64 << 10, Sync: sync}
		s := open(t, dir, o)
		var sizes []int
		for i := range 20 {
			sizes = append(sizes, 1000+i*50)
			if err := s.Append(numbered(i+1, sizes[i]), 1); err != nil {
				t.Fatal(err)
			}
		}
		for range 7 {
			id, _, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			s.Done(id)
		}
		if _, _, err := s.Next(); err != nil { // taken, not done
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, rec, err := Open(dir, o)
		if err != nil || rec.Payloads != 13 || rec.DamagedBytes+rec.TornBytes != 0 {
			t.Fatalf("recovery: %+v, %v", rec, err)
		}
		if got, want := drain(t, s, sizes...), without(20)[7:]; !equal(got, want) {
			t.Fatalf("found %v; want %v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"lock", "progress"}) {
			t.Fatalf("left: %v", got)
		}
	}
}

func names(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("second Open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"notes.txt", "1.spool", "000000000000000g.spool", "00000000000000AB.spool",
		"0000000000000000.spool", "ffffffffffffffff.spool", "0000000000000001.spool.bak"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, segmentName(7)), 0o700); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	s, rec, err := Open(dir, Options{})
	if err != nil || rec != (Recovery{}) {
		t.Fatalf("%+v, %v", rec, err)
	}
	if err := s.Append(numbered(1, 100), 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names(t, dir), segmentName(8)) {
		t.Errorf("the new segment should have number 8: %v", names(t, dir))
	}
	if got := drain(t, s, 100); !equal(got, []int{1}) {
		t.Fatalf("found %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after := slices.DeleteFunc(names(t, dir), func(n string) bool { return n == lockName || n == progressName })
	if !slices.Equal(after, before) {
		t.Errorf("files: %v; before: %v", after, before)
	}
}

func TestOpenErrors(t *testing.T) {
	f := func(dir string, o Options, want string) {
		t.Helper()
		if _, _, err := Open(dir, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error: %v; want %q in it", err, want)
		}
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f(name, Options{}, "spool: mkdir "+name)
	f(dir, Options{MaxBytes: 100}, "100 bytes is less than 4096")
	f(dir, Options{Sync: -7}, "interval of -7ns")

	m := newMemFS()
	fill(t, m, 10)
	m = m.crash(false, nil)
	m.openErr = fs.ErrPermission
	f("/spool", Options{fs: m}, "permission denied")
	if len(m.locked) != 0 {
		t.Error("the directory is still locked")
	}
}

func TestBound(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxBytes: 16 << 10, Sync: SyncNever})
	if err := s.Append(make([]byte, 16<<10), 1); err != ErrTooLarge {
		t.Fatalf("more than the bound: %v", err)
	}
	if err := s.Append(nil, -1); err != ErrTooLarge {
		t.Fatalf("less than no records: %v", err)
	}
	n := 0
	for s.Append(numbered(n+1, 1000), 1) == nil {
		n++
	}
	if err := s.Append(numbered(n+1, 1000), 1); err != ErrFull || n != 15 {
		t.Fatalf("after %d payloads of 1,000 bytes: %v", n, err)
	}
	id1, _, _ := s.Next()
	id2, _, _ := s.Next()
	s.Done(id2)
	if err := s.Append(numbered(n+1, 1000), 1); err != ErrFull {
		t.Fatalf("with the oldest not done: %v", err)
	}
	s.Done(id1)
	if err := s.Append(numbered(n+1, 1000), 1); err != nil {
		t.Fatalf("with a segment done: %v", err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := s.Append([]byte("a"), 1); err != nil {
		t.Fatal(err)
	}
	id, _, _ := s.Next()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.Done(id)
	if err := s.Append([]byte("b"), 1); err != ErrClosed {
		t.Errorf("Append: %v", err)
	}
	if _, _, err := s.Next(); err != ErrClosed {
		t.Errorf("Next: %v", err)
	}
	if err := s.Sync(); err != ErrClosed {
		t.Errorf("Sync: %v", err)
	}
}

// TestDiskFull: a payload without room is refused and leaves no trace.
func TestDiskFull(t *testing.T) {
	f := func(truncErr error) {
		t.Helper()
		m := newMemFS()
		s := fill(t, m, 100)
		m.truncErr = truncErr
		for room := range int64(130) {
			m.room = room
			err := s.Append(numbered(9, 103), 9)
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("room for %d: %v", room, err)
			}
		}
		m.room = 1 << 20
		if err := s.Append(numbered(2, 50), 2); err != nil {
			t.Fatal(err)
		}
		want := []int{1, 2}
		m2 := m.crash(false, nil)
		if got := drain(t, s, 100, 50); !equal(got, want) {
			t.Fatalf("found %v", got)
		}
		s, _, err := Open("/spool", Options{fs: m2})
		if err != nil {
			t.Fatal(err)
		}
		if got := drain(t, s, 100, 50); !equal(got, want) {
			t.Fatalf("found %v after a crash", got)
		}
	}
	f(nil)
	f(syscall.EIO) // the torn record can't be cut off: the next segment is used
}

// TestFullDiskAtOpen: existing payloads can be delivered, which makes room.
func TestFullDiskAtOpen(t *testing.T) {
	m := newMemFS()
	fill(t, m, 100, 100)
	m = m.crash(false, nil)
	delete(m.files, "/spool/progress")
	m.room = 0
	s, rec, err := Open("/spool", Options{fs: m, Sync: SyncNever})
	if err != nil || rec.Payloads != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	if got := drain(t, s, 100, 100); !equal(got, []int{1, 2}) {
		t.Fatalf("found %v", got)
	}
	if err := s.Append(numbered(1, 100), 1); err != nil {
		t.Fatal(err)
	}
}

// TestSyncFails: with SyncAlways the record is refused, and the next one is written to a new
// file; otherwise Sync fails until the segment is removed.
func TestSyncFails(t *testing.T) {
	m := newMemFS()
	fails := func(name string) error {
		if strings.HasSuffix(name, segmentSuffix) {
			return syscall.EIO
		}
		return nil
	}
	s, _, err := Open("/spool", Options{fs: m, Sync: SyncAlways})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(numbered(1, 100), 1); err != nil {
		t.Fatal(err)
	}
	m.syncErr = fails
	for range 3 {
		if err := s.Append(numbered(9, 100), 9); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Append: %v", err)
		}
	}
	m.syncErr = nil
	if len(m.files) != 2 {
		t.Errorf("refused records left files: %d", len(m.files))
	}
	m.dirErr = syscall.EIO
	if err := s.Append(numbered(9, 100), 9); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Append without a synced name: %v", err)
	}
	m.dirErr = nil
	if err := s.Append(numbered(2, 100), 2); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, s, 100, 100); !equal(got, []int{1, 2}) {
		t.Fatalf("found %v", got)
	}
	s.Close()

	s = fill(t, m, 100)
	m.syncErr = fails
	if err := s.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Sync: %v", err)
	}
	m.syncErr = nil
	if err := s.Append(numbered(2, 100), 2); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "was not synced") {
		t.Fatalf("Sync with a segment that was not synced: %v", err)
	}
	id, _, _ := s.Next()
	s.Done(id)
	if err := s.Sync(); err != nil {
		t.Fatalf("Sync with that segment gone: %v", err)
	}
	if got := drain(t, s, 100, 100); !equal(got, []int{2}) {
		t.Fatalf("found %v", got)
	}
}

// TestDirectoryGone: data written to a file without a name is not safe, and no more is
// written to it.
func TestDirectoryGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir, Options{Sync: SyncNever})
	if err := s.Append([]byte("payload"), 1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err == nil {
		t.Fatal("Sync finds nothing wrong")
	}
	if err := s.Append([]byte("payload"), 1); err == nil {
		t.Fatal("Append finds nothing wrong")
	}
	if _, _, err := s.Next(); err != ErrEmpty {
		t.Fatalf("Next: %v", err)
	}
	if _, records, _ := s.Lost(); records != 1 {
		t.Fatalf("%d records lost", records)
	}
}

// TestTooManyFiles: a segment that can't be opened now isn't skipped.
func TestTooManyFiles(t *testing.T) {
	m := newMemFS()
	s := fill(t, m, 100)
	m.openErr = syscall.EMFILE
	for range 2 {
		if _, _, err := s.Next(); !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("Next: %v", err)
		}
		if err := s.Sync(); !errors.Is(err, syscall.EMFILE) {
			t.Fatalf("Sync: %v", err)
		}
	}
	m.openErr = nil
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, s, 100); !equal(got, []int{1}) {
		t.Fatalf("found %v", got)
	}
}

// TestConcurrent: an appender, takers, and Sync at once lose and repeat
// nothing, and leave nothing.
func TestConcurrent(t *testing.T) {
	const n = 2000
	dir := t.TempDir()
	s := open(t, dir, Options{MaxBytes: 256 << 10, Sync: time.Millisecond})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := 0; i < n; {
			switch err := s.Append(numbered(i+1, 400), 1); err {
			case nil:
				i++
			case ErrFull:
				runtime.Gosched()
			default:
				t.Error(err)
				return
			}
		}
	}()
	var mu sync.Mutex
	seen := map[string]int{}
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				all := len(seen) == n
				mu.Unlock()
				if all || t.Failed() {
					return
				}
				id, payload, err := s.Next()
				if err == ErrEmpty {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[string(payload)]++
				mu.Unlock()
				s.Done(id)
				s.Len()
			}
		}()
	}
	wg.Wait()
	for i := range n {
		if seen[string(numbered(i+1, 400))] != 1 {
			t.Fatalf("payload %d was returned %d times", i+1, seen[string(numbered(i+1, 400))])
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Fatalf("left: %v", got)
	}
}

// TestAllocs: a payload costs the allocation of its buffer.
func TestAllocs(t *testing.T) {
	if race.Enabled {
		return // the detector allocates
	}
	s := open(t, t.TempDir(), Options{Sync: SyncNever})
	payload := make([]byte, 300)
	if got := testing.AllocsPerRun(1000, func() {
		if err := s.Append(payload, 1); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("Append: %v allocations", got)
	}
	if got := testing.AllocsPerRun(900, func() {
		id, _, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		s.Done(id)
	}); got != 1 {
		t.Errorf("Next and Done: %v allocations; want 1", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, b.TempDir(), Options{Sync: SyncNever, MaxBytes: 64 << 20})
			payload := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Append(payload, 1); err == ErrFull {
					b.StopTimer()
					empty(b, s)
					b.StartTimer()
				} else if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func empty(b *testing.B, s *Spool) {
	for {
		id, _, err := s.Next()
		if err == ErrEmpty {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		s.Done(id)
	}
}

// BenchmarkNext reads and marks as done.
func BenchmarkNext(b *testing.B) {
	for _, size := range []int{200, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, b.TempDir(), Options{Sync: SyncNever, MaxBytes: 64 << 20})
			payload := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				id, _, err := s.Next()
				if err == ErrEmpty {
					b.StopTimer()
					for s.Append(payload, 1) == nil {
					}
					b.StartTimer()
					continue
				}
				if err != nil {
					b.Fatal(err)
				}
				s.Done(id)
			}
		})
	}
}

// BenchmarkOpen scans 64 MiB.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir, Options{Sync: SyncNever, MaxBytes: 64 << 20})
	payload := make([]byte, 64<<10)
	for s.Append(payload, 1) == nil {
	}
	b.SetBytes(s.DiskBytes())
	s.Close()
	for b.Loop() {
		s := open(b, dir, Options{Sync: SyncNever, MaxBytes: 64 << 20})
		s.Close()
	}
}

// DiskBytes returns the size of all files. It is at most Options.MaxBytes, unless an earlier
// Open had a higher bound.
func (s *Spool) DiskBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk
}

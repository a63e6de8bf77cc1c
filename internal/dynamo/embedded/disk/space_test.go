package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a disk of a certain size, in memory.
type smallDisk struct {
	*vfs.MemFS
	mu           sync.Mutex
	size         int64
	used         map[string]int64
	otherBytes   int64 // used by other programs
	failedWrites int   // writes for which there was no space
}

func newSmall(size int64) *smallDisk {
	return &smallDisk{MemFS: vfs.NewMem(), size: size, used: map[string]int64{}}
}

func (s *smallDisk) free() int64 {
	free := s.size - s.otherBytes
	for _, n := range s.used {
		free -= n
	}
	return free
}

// allocate uses up to n bytes for the file and returns how many were free.
func (s *smallDisk) allocate(name string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := int(max(0, min(int64(n), s.free())))
	if got < n {
		s.failedWrites++
	}
	s.used[name] += int64(got)
	return got
}

// fill uses all but n bytes for other programs.
func (s *smallDisk) fill(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherBytes += s.free() - n
}

func (s *smallDisk) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherBytes = 0
}

func (s *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return vfs.DiskUsage{TotalBytes: uint64(s.size), AvailBytes: uint64(max(0, s.free()))}, nil
}

func (s *smallDisk) failures() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failedWrites
}

func (s *smallDisk) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, name)
}

func (s *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if s.allocate(name, 1) < 1 {
		return nil, syscall.ENOSPC
	}
	s.forget(name)
	f, err := s.MemFS.Create(name, c)
	return &smallFile{f, name, s}, err
}

func (s *smallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := s.MemFS.OpenReadWrite(name, c, opts...)
	return &smallFile{f, name, s}, err
}

func (s *smallDisk) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	s.forget(oldname)
	f, err := s.MemFS.ReuseForWrite(oldname, newname, c)
	return &smallFile{f, newname, s}, err
}

func (s *smallDisk) Remove(name string) error {
	s.forget(name)
	return s.MemFS.Remove(name)
}

func (s *smallDisk) Rename(oldname, newname string) error {
	s.mu.Lock()
	s.used[newname] = s.used[oldname]
	delete(s.used, oldname)
	s.mu.Unlock()
	return s.MemFS.Rename(oldname, newname)
}

type smallFile struct {
	vfs.File
	name string
	fs   *smallDisk
}

func (f *smallFile) Write(p []byte) (int, error) {
	n := f.fs.allocate(f.name, len(p))
	if n, err := f.File.Write(p[:n]); err != nil || n == len(p) {
		return n, err
	}
	return n, syscall.ENOSPC
}

func (f *smallFile) Preallocate(_, length int64) error {
	f.fs.mu.Lock()
	length -= f.fs.used[f.name]
	f.fs.mu.Unlock()
	if n := f.fs.allocate(f.name, int(length)); int64(n) < length {
		return syscall.ENOSPC
	}
	return nil
}

// TestFullDisk fills a disk in several ways: by writes, by other programs, suddenly and to
// the last byte. Writes are refused, reads continue, and writes continue when there is free
// space; acknowledged writes are kept.
func TestFullDisk(t *testing.T) {
	f := func(name string, size int64, fill func(t *testing.T, fs *smallDisk, put func(n int) bool, write func())) {
		t.Run(name, func(t *testing.T) {
			fs := newSmall(size)
			d := open(t, fs)
			var next atomic.Int64
			filler := make([]byte, 16<<10) // which can't be compressed
			rand.NewChaCha8([32]byte{}).Read(filler)
			var mu sync.Mutex
			acknowledged := map[string]bool{}
			// write writes a value of 16 KB, whether writes are accepted or not.
			write := func() {
				key := fmt.Sprintf("k%06d", next.Add(1))
				if err := d.set(key, string(filler)); err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				mu.Lock()
				acknowledged[key] = true
				mu.Unlock()
			}
			// put writes n values while writes are accepted.
			put := func(n int) bool {
				for range n {
					if errors.Is(d.Writable(), ErrFull) {
						return false
					}
					write()
				}
				return true
			}
			put(10)
			fill(t, fs, put, write)
			eventually(t, "writes are refused", func() bool { return errors.Is(d.Writable(), ErrFull) })
			if text(t, d, "k000001") == "" {
				t.Error("a database on a full disk can't be read")
			}
			fs.empty()
			fs.mu.Lock()
			fs.size *= 4
			fs.mu.Unlock()
			eventually(t, "writes are taken again", func() bool { return d.Writable() == nil })
			if !put(200) {
				t.Error("writes are refused although there is space again")
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = open(t, fs)
			for key := range acknowledged {
				if text(t, d, key) == "" {
					t.Fatalf("%s is lost", key)
				}
			}
			d.Close()
		})
	}
	f("by writing", 16<<20, func(_ *testing.T, _ *smallDisk, put func(int) bool, _ func()) {
		var writers sync.WaitGroup
		for range 16 {
			writers.Go(func() {
				for put(1) {
				}
			})
		}
		writers.Wait()
	})
	f("by other programs", 16<<20, func(_ *testing.T, fs *smallDisk, _ func(int) bool, _ func()) { fs.fill(256 << 10) })
	f("by other programs during writes", 64<<20, func(t *testing.T, fs *smallDisk, _ func(int) bool, write func()) {
		var writers sync.WaitGroup
		var stop atomic.Bool
		for range 16 {
			writers.Go(func() {
				for !stop.Load() {
					write()
				}
			})
		}
		for range 10 {
			write()
		}
		fs.fill(0)
		eventually(t, "a write finds no room", func() bool { return fs.failures() > 0 })
		stop.Store(true)
		fs.empty() // waiting writes continue
		writers.Wait()
		fs.fill(0)
	})
	f("to the last byte", 16<<20, func(_ *testing.T, fs *smallDisk, _ func(int) bool, _ func()) { fs.fill(0) })
}

// TestBallast checks that the ballast of an empty directory is small, and that it grows with the
// data up to a share of the disk.
func TestBallast(t *testing.T) {
	fs := newSmall(256 << 20)
	d := open(t, fs)
	defer d.Close()
	ballast := func() int64 {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		return fs.used["store/BALLAST"]
	}
	if got := ballast(); got != minBallast {
		t.Errorf("the ballast of an empty directory has %d bytes, want %d", got, minBallast)
	}
	filler := make([]byte, 1<<20)
	for i := range 20 {
		if err := d.set(fmt.Sprint(i), string(filler)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the ballast has grown", func() bool { return ballast() == 256<<20/32 })
}

// TestFullAtOpen opens a directory on a full disk: the ballast is removed, and if that isn't
// enough, the error states the reason.
func TestFullAtOpen(t *testing.T) {
	fs := newSmall(64 << 20)
	d := open(t, fs)
	if err := d.set("k", "v"); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if fs.used["store/BALLAST"] == 0 {
		t.Fatal("there is no ballast")
	}
	fs.fill(0)
	d = open(t, fs)
	if text(t, d, "k") != "v" {
		t.Error("k is lost")
	}
	if !errors.Is(d.Writable(), ErrFull) {
		t.Error("writes are accepted")
	}
	d.Close()
	fs.fill(0)
	_, err := Open("store", Options{FS: fs, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "cannot open store") || !strings.Contains(err.Error(), "the disk is full: 0 bytes are free, 524288 are needed") {
		t.Errorf("without any free space: got %v", err)
	}
	fs.empty()
	d = open(t, fs)
	if text(t, d, "k") != "v" {
		t.Error("k is lost")
	}
	d.Close()
}

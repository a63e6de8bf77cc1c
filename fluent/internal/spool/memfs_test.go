package spool

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
)

var errDead = errors.New("power is off")

// memFS is a file system in memory that fails on command and simulates crashes of the
// machine.
type memFS struct {
	mu      sync.Mutex
	files   map[string]*memFile
	durable map[string]*memFile // names that are synced
	locked  map[string]bool

	room     int64 // bytes that can still be allocated
	opsLeft  int   // until power is lost, within the last one; < 0 for never
	syncErr  func(name string) error
	readErr  func(name string, off, end int64) error
	truncErr error
	openErr  error
	dirErr   error
	syncs    int
}

type memFile struct {
	data   []byte
	synced []byte
}

func newMemFS() *memFS {
	return &memFS{
		files: map[string]*memFile{}, durable: map[string]*memFile{}, locked: map[string]bool{},
		room: 1 << 40, opsLeft: -1,
	}
}

// op counts one change; the caller holds mu. The last one is done in part.
func (m *memFS) op() (last bool, err error) {
	if m.opsLeft == 0 {
		return false, errDead
	}
	if m.opsLeft > 0 {
		m.opsLeft--
	}
	return m.opsLeft == 0, nil
}

func pathErr(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func (m *memFS) MkdirAll(string) error { return nil }

func (m *memFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []fs.DirEntry
	for name := range m.files {
		if filepath.Dir(name) == dir {
			entries = append(entries, memEntry(filepath.Base(name)))
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, nil
}

type memEntry string

func (e memEntry) Name() string               { return string(e) }
func (e memEntry) IsDir() bool                { return false }
func (e memEntry) Type() fs.FileMode          { return 0 }
func (e memEntry) Info() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

func (m *memFS) Create(name string) (file, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.op(); err != nil {
		return nil, err
	}
	if m.files[name] != nil {
		return nil, pathErr("create", name, fs.ErrExist)
	}
	m.files[name] = &memFile{}
	return &memHandle{fs: m, name: name, f: m.files[name]}, nil
}

func (m *memFS) Open(name string) (file, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.openErr != nil {
		return nil, pathErr("open", name, m.openErr)
	}
	f := m.files[name]
	if f == nil {
		return nil, pathErr("open", name, fs.ErrNotExist)
	}
	return &memHandle{fs: m, name: name, f: f}, nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.op(); err != nil {
		return err
	}
	if m.files[name] == nil {
		return pathErr("remove", name, fs.ErrNotExist)
	}
	m.room += int64(len(m.files[name].data))
	delete(m.files, name)
	return nil
}

func (m *memFS) SyncDir(string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.op(); err != nil {
		return err
	}
	if m.dirErr != nil {
		return m.dirErr
	}
	clear(m.durable)
	for name, f := range m.files {
		m.durable[name] = f
	}
	return nil
}

func (m *memFS) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[name] {
		return nil, ErrLocked
	}
	m.locked[name] = true
	return memLock{m, name}, nil
}

type memLock struct {
	fs   *memFS
	name string
}

func (l memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locked, l.name)
	return nil
}

type memHandle struct {
	fs     *memFS
	name   string
	f      *memFile
	closed bool
}

func (h *memHandle) ReadAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return 0, fs.ErrClosed
	}
	if h.fs.readErr != nil {
		if err := h.fs.readErr(h.name, off, off+int64(len(b))); err != nil {
			return 0, pathErr("read", h.name, err)
		}
	}
	if off >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(b, h.f.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes as much as there is room for, like a full disk.
func (h *memHandle) WriteAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	last, err := h.fs.op()
	if err != nil {
		return 0, err
	}
	if h.closed {
		return 0, fs.ErrClosed
	}
	n := len(b)
	if last {
		n, err = n/2, errDead
	}
	if more := off + int64(n) - int64(len(h.f.data)); more > h.fs.room {
		n, err = max(0, n-int(more-h.fs.room)), pathErr("write", h.name, syscall.ENOSPC)
	}
	if more := off + int64(n) - int64(len(h.f.data)); more > 0 {
		h.fs.room -= more
		h.f.data = append(h.f.data, make([]byte, more)...)
	}
	copy(h.f.data[off:], b[:n])
	return n, err
}

func (h *memHandle) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return fs.ErrClosed
	}
	h.closed = true
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.f.data)), nil
}

func (h *memHandle) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if _, err := h.fs.op(); err != nil {
		return err
	}
	if h.fs.truncErr != nil {
		return h.fs.truncErr
	}
	h.fs.room += int64(len(h.f.data)) - size
	h.f.data = h.f.data[:size]
	return nil
}

func (h *memHandle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.fs.syncs++
	if _, err := h.fs.op(); err != nil {
		return err
	}
	if h.fs.syncErr != nil {
		if err := h.fs.syncErr(h.name); err != nil {
			return pathErr("sync", h.name, err)
		}
	}
	h.f.synced = append([]byte(nil), h.f.data...)
	return nil
}

// crash returns the files as the next process finds them: everything, if only the process
// crashed. If the machine crashed, choose decides for each unsynced name and file: choose(n)
// returns a number below n.
func (m *memFS) crash(machine bool, choose func(n int) int) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := newMemFS()
	names := map[string]*memFile{}
	for name, f := range m.files {
		names[name] = f
	}
	if machine {
		for name, f := range m.durable {
			if m.files[name] == nil && choose(2) == 0 {
				names[name] = f // its removal wasn't synced
			}
		}
	}
	for _, name := range sortedNames(names) {
		f := names[name]
		data := append([]byte(nil), f.data...)
		if machine {
			if m.durable[name] == nil && choose(2) == 0 {
				continue
			}
			data = f.afterCrash(choose)
		}
		after.files[name] = &memFile{data: data, synced: data}
		after.durable[name] = after.files[name]
	}
	return after
}

func sortedNames(m map[string]*memFile) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// afterCrash mixes synced data with later writes: writes beyond the old end are lost,
// truncated, or leave zeros; writes within it happened or did not.
func (f *memFile) afterCrash(choose func(n int) int) []byte {
	if len(f.data) < len(f.synced) {
		if choose(2) == 0 {
			return append([]byte(nil), f.synced...)
		}
		return append([]byte(nil), f.data...)
	}
	out := append([]byte(nil), f.data[:len(f.synced)+choose(len(f.data)-len(f.synced)+1)]...)
	if choose(2) == 0 {
		copy(out, f.synced)
	}
	if tail := len(out) - len(f.synced); tail > 0 && choose(2) == 0 {
		clear(out[len(out)-choose(tail+1):])
	}
	return out
}

// Package memfs is an in-memory file system for tests of durability: it can fail on demand,
// stop at any step, and return the state after a crash of the machine.
package memfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
)

// ErrDead is returned by every call after the end.
var ErrDead = errors.New("memfs: the process has ended")

// FS is a disk.FS. Create it with New.
type FS struct {
	mu      sync.Mutex
	files   map[string]*data
	durable map[string]*data // the names at the last sync
	locked  map[string]bool
	left    int   // changes until the end, the last of which is partial; < 0: no end
	room    int64 // free space in bytes
	fail    func(op, name string) error
}

type data struct {
	bytes  []byte
	synced []byte
}

// New returns an empty file system.
func New() *FS {
	return &FS{files: map[string]*data{}, durable: map[string]*data{}, locked: map[string]bool{}, left: -1, room: 1 << 40}
}

// EndAfter stops the file system at the n-th change from now on, which is done in part.
func (m *FS) EndAfter(n int) { m.set(func() { m.left = n }) }

// Ended reports whether the file system has stopped.
func (m *FS) Ended() (ended bool) {
	m.set(func() { ended = m.left == 0 })
	return ended
}

// Room sets the free space in bytes.
func (m *FS) Room(n int64) { m.set(func() { m.room = n }) }

// Fail sets a function that decides which operations fail: "create", "open", "read",
// "write", "sync", "rename", "remove", "syncdir". Nil means none.
func (m *FS) Fail(f func(op, name string) error) { m.set(func() { m.fail = f }) }

// Change changes the bytes of a file.
func (m *FS) Change(name string, f func([]byte) []byte) {
	m.set(func() { m.files[name].bytes = f(m.files[name].bytes) })
}

// Files returns the names of all files, sorted.
func (m *FS) Files() (names []string) {
	m.set(func() { names = slices.Sorted(maps.Keys(m.files)) })
	return names
}

func (m *FS) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// change counts one change; mu is held. half reports whether it is the last one.
func (m *FS) change(op, name string) (half bool, err error) {
	if m.left == 0 {
		return false, ErrDead
	}
	if m.fail != nil {
		if err := m.fail(op, name); err != nil {
			return false, &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	if m.left > 0 {
		m.left--
	}
	return m.left == 0, nil
}

// look is change for calls that do not change anything.
func (m *FS) look(op, name string) error {
	if m.left == 0 {
		return ErrDead
	}
	if m.fail == nil {
		return nil
	}
	if err := m.fail(op, name); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// MkdirAll does nothing: all directories exist.
func (m *FS) MkdirAll(string) error { return nil }

// Names returns the names of the files and directories in dir.
func (m *FS) Names(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.look("open", dir); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for name := range m.files {
		rel, err := filepath.Rel(dir, name)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		for filepath.Dir(rel) != "." {
			rel = filepath.Dir(rel)
		}
		found[rel] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Create makes a file.
func (m *FS) Create(name string) (disk.Handle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.change("create", name); err != nil {
		return nil, err
	}
	if m.files[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	m.files[name] = &data{}
	return &handle{m, name, m.files[name]}, nil
}

// Open opens a file.
func (m *FS) Open(name string) (disk.Handle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.look("open", name); err != nil {
		return nil, err
	}
	if m.files[name] == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &handle{m, name, m.files[name]}, nil
}

// Rename renames a file and replaces the target.
func (m *FS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.change("rename", from); err != nil {
		return err
	}
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

// Remove removes a file.
func (m *FS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.change("remove", name); err != nil {
		return err
	}
	if m.files[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(m.files, name)
	return nil
}

// SyncDir makes the names in dir durable.
func (m *FS) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	half, err := m.change("syncdir", dir)
	if err != nil || half {
		return errors.Join(err, endOf(half))
	}
	maps.DeleteFunc(m.durable, func(name string, _ *data) bool { return filepath.Dir(name) == dir })
	for name, d := range m.files {
		if filepath.Dir(name) == dir {
			m.durable[name] = d
		}
	}
	return nil
}

func endOf(half bool) error {
	if half {
		return ErrDead
	}
	return nil
}

// Lock takes a lock.
func (m *FS) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked[name] {
		return nil, disk.ErrLocked
	}
	m.locked[name] = true
	return lock{m, name}, nil
}

type lock struct {
	fs   *FS
	name string
}

func (l lock) Close() error {
	l.fs.set(func() { delete(l.fs.locked, l.name) })
	return nil
}

type handle struct {
	fs   *FS
	name string
	d    *data
}

func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.look("read", h.name); err != nil {
		return 0, err
	}
	if off >= int64(len(h.d.bytes)) {
		return 0, io.EOF
	}
	n := copy(b, h.d.bytes[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	half, err := h.fs.change("write", h.name)
	if err != nil {
		return 0, err
	}
	if half {
		b, err = b[:len(b)/2], ErrDead
	}
	if more := off + int64(len(b)) - int64(len(h.d.bytes)); more > 0 {
		if more > h.fs.room {
			return 0, &fs.PathError{Op: "write", Path: h.name, Err: syscall.ENOSPC}
		}
		h.fs.room -= more
		h.d.bytes = append(h.d.bytes, make([]byte, more)...)
	}
	return copy(h.d.bytes[off:], b), err
}

func (h *handle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	half, err := h.fs.change("sync", h.name)
	if err != nil || half {
		return errors.Join(err, endOf(half))
	}
	h.d.synced = slices.Clone(h.d.bytes)
	return nil
}

func (h *handle) Size() (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return int64(len(h.d.bytes)), nil
}

func (h *handle) Close() error { return nil }

// Crash returns the state that the next process finds: everything, if only the process
// crashed; otherwise choose decides for each name and each file that was not synced:
// choose(n) returns a number below n.
func (m *FS) Crash(machine bool, choose func(n int) int) *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := New()
	all := maps.Clone(m.files)
	for name, d := range m.durable {
		if all[name] == nil {
			all[name] = d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := m.files[name]
		if machine && m.durable[name] != d && choose(2) == 0 {
			d = m.durable[name] // the change of this name is lost
		}
		if d == nil {
			continue
		}
		b := slices.Clone(d.bytes)
		if machine {
			b = d.left(choose)
		}
		after.files[name] = &data{b, slices.Clone(b)}
		after.durable[name] = after.files[name]
	}
	return after
}

// left returns the bytes of a file after a crash of the machine: after the synced ones they
// are lost from some offset on, or zeros.
func (d *data) left(choose func(n int) int) []byte {
	if slices.Equal(d.bytes, d.synced) {
		return slices.Clone(d.bytes)
	}
	out := slices.Clone(d.bytes)
	switch first := min(len(d.synced), len(out)); choose(3) {
	case 0:
		out = out[:first+choose(len(out)-first+1)]
	case 1:
		clear(out[first+choose(len(out)-first+1):])
	}
	return out
}

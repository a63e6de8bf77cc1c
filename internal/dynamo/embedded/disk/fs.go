package disk

import (
	"errors"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fileSystem is pebble's view of the disk: the real file system, except that it waits for
// free space where pebble can't handle a full disk; see space.
//
// It also maintains the integrity file. A sync of a manifest or a log returns to pebble only
// after it has been recorded, and a log is removed only after its removal has been recorded.
type fileSystem struct {
	vfs.FS
	dir       string
	space     *space
	integrity *integrity
}

// Unwrap returns the real file system.
func (f *fileSystem) Unwrap() vfs.FS { return f.FS }

// isTable reports whether name is a table, which pebble can write again.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// recorded reports whether a file is in the directory itself. Those of snapshots have the same
// names, and are not recorded.
func (f *fileSystem) recorded(path string) bool {
	return f.FS.PathDir(path) == f.FS.PathDir(f.FS.PathJoin(f.dir, "x"))
}

// numbered returns the number in the name of a manifest or a log.
func numbered(fs vfs.FS, path, prefix, suffix string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(fs.PathBase(path), prefix)
	if !ok {
		return 0, false
	}
	if digits, ok = strings.CutSuffix(digits, suffix); !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil
}

const (
	manifestPrefix = "MANIFEST-"
	logSuffix      = ".log"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// persist calls do, and repeats it while the disk is full and waiting may help.
func (f *fileSystem) persist(do func() error) error {
	for {
		err := do()
		if !isDiskFull(err) {
			return err
		}
		first := !f.space.out.Load()
		f.space.ranOut()
		if first {
			continue // removing the ballast may have freed space
		}
		if !f.space.wait() {
			return err
		}
	}
}

// Create creates a file. A table is only created once there is free space: pebble would
// retry at once, endlessly.
func (f *fileSystem) Create(name string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	for isTable(name) && f.space.out.Load() && f.space.wait() {
	}
	err = f.persist(func() error {
		file, err = f.FS.Create(name, category)
		return err
	})
	return f.wrap(name, file, false), err
}

// ReuseForWrite turns a file that is no longer needed into a new one.
func (f *fileSystem) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	if err := f.withdraw(oldname); err != nil {
		return nil, err
	}
	err = f.persist(func() error {
		file, err = f.FS.ReuseForWrite(oldname, newname, category)
		return err
	})
	return f.wrap(newname, file, true), err
}

// Remove removes a file.
func (f *fileSystem) Remove(name string) error {
	if err := f.withdraw(name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// withdraw deletes the record of a file before the file is removed.
func (f *fileSystem) withdraw(name string) error {
	if number, ok := numbered(f.FS, name, "", logSuffix); ok && f.recorded(name) {
		return f.integrity.logRemoved(number)
	}
	return nil
}

// OpenReadWrite opens or creates a file.
func (f *fileSystem) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (file vfs.File, err error) {
	err = f.persist(func() error {
		file, err = f.FS.OpenReadWrite(name, category, opts...)
		return err
	})
	return f.wrap(name, file, false), err
}

// Link adds another name for a file.
func (f *fileSystem) Link(oldname, newname string) error {
	return f.persist(func() error { return f.FS.Link(oldname, newname) })
}

// Rename renames a file.
func (f *fileSystem) Rename(oldname, newname string) error {
	return f.persist(func() error { return f.FS.Rename(oldname, newname) })
}

// MkdirAll creates a directory.
func (f *fileSystem) MkdirAll(dir string, perm os.FileMode) error {
	return f.persist(func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *fileSystem) wrap(name string, file vfs.File, recycled bool) vfs.File {
	if file == nil {
		return nil
	}
	w := &writtenFile{File: file, fs: f, table: isTable(name)}
	if !f.recorded(name) {
		return w
	}
	if number, ok := numbered(f.FS, name, "", logSuffix); ok {
		return &logFile{writtenFile: w, state: logState{number: number, recycled: recycled}}
	}
	if number, ok := numbered(f.FS, name, manifestPrefix, ""); ok {
		return &manifestFile{writtenFile: w, state: manifestState{number: number}}
	}
	return w
}

// writtenFile is a file that pebble writes to.
type writtenFile struct {
	vfs.File
	fs    *fileSystem
	table bool
}

// Write writes all of p. If the disk is full, a table is tried once more after the ballast
// has been removed; other files wait for free space.
func (f *writtenFile) Write(p []byte) (done int, err error) {
	f.fs.space.wrote(len(p))
	write := func() error {
		var n int
		n, err = f.File.Write(p[done:])
		done += n
		return err
	}
	if !f.table {
		err = f.fs.persist(write)
		return done, err
	}
	if err = write(); isDiskFull(err) {
		f.fs.space.ranOut()
		err = write()
	}
	return done, err
}

// logFile is a log, which pebble writes and syncs from one goroutine.
type logFile struct {
	*writtenFile
	state logState
}

// Write writes all of p.
func (f *logFile) Write(p []byte) (int, error) {
	n, err := f.writtenFile.Write(p)
	f.state.length += uint64(n)
	return n, err
}

// Sync makes the written bytes durable.
func (f *logFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes the written bytes durable.
func (f *logFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f *logFile) synced(err error) error {
	if err != nil || f.state.length == 0 {
		return err
	}
	return f.fs.integrity.logSynced(f.state)
}

type manifestFile struct {
	*writtenFile
	state manifestState
}

// Write writes all of p.
func (f *manifestFile) Write(p []byte) (int, error) {
	f.state.sum = crc32.Update(f.state.sum, castagnoli, p) // before the write: pebble's file system for tests changes p
	n, err := f.writtenFile.Write(p)
	f.state.length += uint64(n)
	return n, err
}

// Sync makes the written bytes durable.
func (f *manifestFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes the written bytes durable.
func (f *manifestFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f *manifestFile) synced(err error) error {
	if err != nil {
		return err
	}
	return f.fs.integrity.manifestSynced(f.state)
}

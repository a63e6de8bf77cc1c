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

// fileSystem is what pebble sees of the disk: the real one, save that a lack of
// room is waited out where pebble could not bear it; see space.
//
// It also keeps the integrity file: pebble learns that a manifest or a log is synced
// once that is recorded, and a log is removed once that is.
type fileSystem struct {
	vfs.FS
	space     *space
	integrity *integrity
}

// Unwrap returns the real one.
func (f *fileSystem) Unwrap() vfs.FS { return f.FS }

// isTable tells the files that pebble can do without: it writes them again.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
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

func lacksRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// persist does what must succeed, again and again while there is no room.
func (f *fileSystem) persist(do func() error) error {
	for {
		err := do()
		if !lacksRoom(err) {
			return err
		}
		first := !f.space.out.Load()
		f.space.ranOut()
		if first {
			continue // the ballast may have made room
		}
		if !f.space.wait() {
			return err
		}
	}
}

// Create makes a file. A table is not begun before there is room: pebble would
// try again at once, and for ever.
func (f *fileSystem) Create(name string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	for isTable(name) && f.space.out.Load() && f.space.wait() {
	}
	err = f.persist(func() error {
		file, err = f.FS.Create(name, category)
		return err
	})
	return f.wrap(name, file, false), err
}

// ReuseForWrite makes a file of one that is no longer needed.
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

// withdraw prepares for a file's end.
func (f *fileSystem) withdraw(name string) error {
	if number, ok := numbered(f.FS, name, "", logSuffix); ok {
		return f.integrity.logRemoved(number)
	}
	return nil
}

// OpenReadWrite opens or makes a file.
func (f *fileSystem) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (file vfs.File, err error) {
	err = f.persist(func() error {
		file, err = f.FS.OpenReadWrite(name, category, opts...)
		return err
	})
	return f.wrap(name, file, false), err
}

// Link makes another name for a file.
func (f *fileSystem) Link(oldname, newname string) error {
	return f.persist(func() error { return f.FS.Link(oldname, newname) })
}

// Rename gives a file another name.
func (f *fileSystem) Rename(oldname, newname string) error {
	return f.persist(func() error { return f.FS.Rename(oldname, newname) })
}

// MkdirAll makes a directory.
func (f *fileSystem) MkdirAll(dir string, perm os.FileMode) error {
	return f.persist(func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *fileSystem) wrap(name string, file vfs.File, recycled bool) vfs.File {
	if file == nil {
		return nil
	}
	w := &writtenFile{File: file, fs: f, table: isTable(name)}
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

// Write writes all of p. A table gets one more chance, once the ballast is gone;
// anything else waits.
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
	if err = write(); lacksRoom(err) {
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

// Sync makes durable what was written.
func (f *logFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes durable what was written.
func (f *logFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f *logFile) synced(err error) error {
	if err != nil || f.state.length == 0 {
		return err
	}
	return f.fs.integrity.logSynced(f.state)
}

// manifestFile is a manifest.
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

// Sync makes durable what was written.
func (f *manifestFile) Sync() error { return f.synced(f.File.Sync()) }

// SyncData makes durable what was written.
func (f *manifestFile) SyncData() error { return f.synced(f.File.SyncData()) }

func (f *manifestFile) synced(err error) error {
	if err != nil {
		return err
	}
	return f.fs.integrity.manifestSynced(f.state)
}

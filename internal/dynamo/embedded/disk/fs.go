package disk

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fileSystem is what pebble sees of the disk: the real one, save that a lack of
// room is waited out where pebble could not bear it; see space.
type fileSystem struct {
	vfs.FS
	space *space
}

// Unwrap returns the real one.
func (f *fileSystem) Unwrap() vfs.FS { return f.FS }

// isTable tells the files that pebble can do without: it writes them again.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

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
	return f.wrap(name, file), err
}

// ReuseForWrite makes a file of one that is no longer needed.
func (f *fileSystem) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.persist(func() error {
		file, err = f.FS.ReuseForWrite(oldname, newname, category)
		return err
	})
	return f.wrap(newname, file), err
}

// OpenReadWrite opens or makes a file.
func (f *fileSystem) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (file vfs.File, err error) {
	err = f.persist(func() error {
		file, err = f.FS.OpenReadWrite(name, category, opts...)
		return err
	})
	return f.wrap(name, file), err
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

func (f *fileSystem) wrap(name string, file vfs.File) vfs.File {
	if file == nil {
		return nil
	}
	return &writtenFile{File: file, fs: f, table: isTable(name)}
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

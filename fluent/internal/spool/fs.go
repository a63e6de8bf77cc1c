package spool

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// fsys is the file system used by a spool. Names are paths.
type fsys interface {
	MkdirAll(dir string) error
	ReadDir(dir string) ([]fs.DirEntry, error)
	Create(name string) (file, error) // fails if it exists
	Open(name string) (file, error)   // to read and to write
	Remove(name string) error
	SyncDir(dir string) error
	Lock(name string) (io.Closer, error) // ErrLocked if it is locked elsewhere
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
}

// osFS is the operating system's file system. Files are accessible only to their owner:
// payloads may be confidential.
type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (osFS) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o700) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (osFS) Remove(name string) error                  { return os.Remove(name) }
func (osFS) Lock(name string) (io.Closer, error)       { return lockFile(filepath.Clean(name)) }

func (osFS) Create(name string) (file, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

func (osFS) Open(name string) (file, error) { return openFile(name, os.O_RDWR) }

func openFile(name string, flags int) (file, error) {
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// SyncDir does nothing on Windows: it has no such call, and NTFS journals the changes of its
// directories.
func (osFS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

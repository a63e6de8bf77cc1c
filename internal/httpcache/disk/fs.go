package disk

import (
	"io"
	"os"
	"runtime"
)

// FS is the file system of a tier. Tests replace it to inject failures and crashes at any
// step.
type FS interface {
	MkdirAll(dir string) error
	// Names returns the names of the directory's entries, in no particular order.
	Names(dir string) ([]string, error)
	Create(name string) (Handle, error) // it must not exist
	Open(name string) (Handle, error)   // for reading
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
	Lock(name string) (io.Closer, error)
}

// Handle is an open file of an FS.
type Handle interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Size() (int64, error)
}

// osFS is the operating system's file system. Files are readable only by their owner,
// because cached responses may be confidential.
type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

func (osFS) Names(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (osFS) Create(name string) (Handle, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string) (Handle, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Rename(from, to string) error        { return os.Rename(from, to) }
func (osFS) Remove(name string) error            { return os.Remove(name) }
func (osFS) Lock(name string) (io.Closer, error) { return lockFile(name) }

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

package disk

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Reserve creates a directory and below it the directory parent, which is for directories of
// stores. It keeps other processes out of the directory as Open does. The directory may have a
// store of its own, which must not be open.
func Reserve(dir, parent string) (io.Closer, error) {
	lock, err := reserve(privateFS{vfs.Default}, dir, parent)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", dir, err)
	}
	return lock, nil
}

func reserve(fs vfs.FS, dir, parent string) (io.Closer, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(dir, fs)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fs.MkdirAll(fs.PathJoin(dir, parent), 0o700), syncDir(fs, dir)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// HasStore reports whether a directory has the files of a store.
func HasStore(dir string) bool {
	_, err := vfs.Default.Stat(vfs.Default.PathJoin(dir, formatFile))
	return err == nil
}

// SyncDir makes the entries of a directory durable, for example a new directory with a store.
func SyncDir(dir string) error { return syncDir(vfs.Default, dir) }

package disk

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// privateFS is the operating system's file system, except that only the owner may use its
// files and directories. pebble leaves the modes of its files to the umask.
type privateFS struct{ vfs.FS }

// Unwrap returns the file system below.
func (p privateFS) Unwrap() vfs.FS { return p.FS }

// Create creates a file. Other users can't open it before its mode is set, since the
// directory is private.
func (p privateFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := p.FS.Create(name, category)
	if err != nil {
		return f, err
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// MkdirAll creates a directory and its parents.
func (p privateFS) MkdirAll(dir string, _ os.FileMode) error { return p.FS.MkdirAll(dir, 0o700) }

// Lock locks a file, and creates it if it is missing.
func (p privateFS) Lock(name string) (io.Closer, error) {
	_, err := os.Stat(name)
	made := errors.Is(err, fs.ErrNotExist)
	lock, err := p.FS.Lock(name)
	if err == nil && made {
		err = os.Chmod(name, 0o600)
	}
	return lock, err
}

// restrictModes removes the permissions of other users from a store's directory and files,
// and returns the number of modes that it changed. Earlier versions left the modes to the
// umask. Only the owner can change a mode; a failure because another user owns the file is
// logged.
func restrictModes(dir string, log *slog.Logger) (changed int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	names := []string{dir}
	for _, entry := range entries {
		if entry.Type().IsRegular() && isStoreFile(entry.Name()) {
			names = append(names, filepath.Join(dir, entry.Name()))
		}
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return changed, err
		}
		if info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(name, info.Mode()&^0o077); err != nil {
			log.Warn("embedded store: other users may access a file or directory of the store, and its mode can't be changed", slog.String("file", name), slog.Any("error", err))
			continue
		}
		changed++
	}
	return changed, nil
}

// isStoreFile reports whether a file with that name in a store's directory belongs to the
// store.
func isStoreFile(name string) bool {
	return databaseFile().MatchString(name) || slices.Contains([]string{formatFile, integrityFile, ballastFile, "LOCK"}, name)
}

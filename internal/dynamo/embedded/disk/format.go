package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// formatVersion is that of the keys and values which the store writes.
//
//	1  the first
const formatVersion = 1

// formatFile holds formatPrefix and the version, so that a person who finds the
// directory learns what it is.
const (
	formatFile   = "FORMAT"
	formatPrefix = "kasoku embedded store, format "
)

// lockDirectory keeps other processes out until the lock is closed or this
// process ends, however it ends.
func lockDirectory(dir string, fs vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("another process uses this directory (%w); stop that process or choose another directory", err)
	}
	return lock, nil
}

// checkFormat refuses what this version can't read and marks a new directory.
// The mark is made before anything else, so that a directory with data has one.
func checkFormat(dir string, fs vfs.FS) error {
	name := fs.PathJoin(dir, formatFile)
	text, err := readFile(fs, name)
	if errors.Is(err, errNoFile) {
		return markFormat(dir, fs)
	}
	if err != nil {
		return err
	}
	digits, ok := bytes.CutPrefix(text, []byte(formatPrefix))
	version, err := strconv.Atoi(string(bytes.TrimSpace(digits)))
	switch {
	case !ok || err != nil || version < 1:
		return fmt.Errorf("%s does not say which format the directory has", name)
	case version > formatVersion:
		return fmt.Errorf("the directory has format %d, and this version of kasoku reads formats up to %d: use the version that wrote it, or a newer one",
			version, formatVersion)
	}
	return nil
}

var errNoFile = errors.New("no such file")

// readFile reads a small file; errNoFile if it is not there.
func readFile(fs vfs.FS, name string) ([]byte, error) {
	if _, err := fs.Stat(name); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, errNoFile
		}
		return nil, err
	}
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<10))
}

// markFormat writes the format file so that it is there whole or not at all.
func markFormat(dir string, fs vfs.FS) error {
	names, err := fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "CURRENT" || len(name) > 9 && name[:9] == "MANIFEST-" {
			return fmt.Errorf("it holds a database, but no file %s that says which format", formatFile)
		}
	}
	name := fs.PathJoin(dir, formatFile)
	temporary := name + ".new"
	if err := writeFile(fs, temporary, fmt.Appendf(nil, "%s%d\n", formatPrefix, formatVersion)); err != nil {
		return err
	}
	if err := fs.Rename(temporary, name); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

func writeFile(fs vfs.FS, name string, text []byte) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

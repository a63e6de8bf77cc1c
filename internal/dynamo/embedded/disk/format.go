package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// formatVersion is the version of the format of keys and values on disk:
//
//	1  the first
//	2  with a file that records the expected files; see integrity.go
//	3  streams may have several shards
const (
	formatVersion   = 3
	formatIntegrity = 2 // the first with that file
)

// formatFile holds formatPrefix and the version, so that it explains the directory to a
// reader.
const (
	formatFile   = "FORMAT"
	formatPrefix = "kasoku embedded store, format "
)

// lockDirectory keeps other processes out until the lock is closed or this process ends.
func lockDirectory(dir string, fs vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, fmt.Errorf("another process uses this directory (%w); stop that process or choose another directory", err)
	}
	return lock, nil
}

// readFormat returns the version of the directory's format, 0 if the directory holds no
// store. It returns an error for a format that this version can't read.
func readFormat(dir string, fs vfs.FS) (version int, err error) {
	name := fs.PathJoin(dir, formatFile)
	text, err := readFile(fs, name)
	if errors.Is(err, errNoFile) {
		held, err := holdsDatabase(dir, fs)
		if err == nil && held != "" {
			err = refuse("it holds a database (%s), but no file %s that states the format", held, formatFile)
		}
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	digits, ok := bytes.CutPrefix(text, []byte(formatPrefix))
	version, err = strconv.Atoi(string(bytes.TrimSpace(digits)))
	switch {
	case !ok || err != nil || version < 1:
		return 0, refuse("%s does not state the format of the directory", name)
	case version > formatVersion:
		return 0, fmt.Errorf("the directory has format %d, and this version of kasoku reads formats up to %d: use the version that wrote it, or a newer one; nothing in it was changed",
			version, formatVersion)
	}
	return version, nil
}

var errNoFile = errors.New("no such file")

// readWhole reads a file.
func readWhole(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readFile reads a small file. It returns errNoFile if the file is missing.
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

// databaseFile matches the names of pebble's files.
var databaseFile = lazyregexp.New(`^(CURRENT|MANIFEST-[0-9]+|OPTIONS-[0-9]+|marker\..*|[0-9]{6,}\.(log|sst|blob))$`)

// holdsDatabase returns the name of a database file in the directory, empty if there is
// none.
func holdsDatabase(dir string, fs vfs.FS) (string, error) {
	names, err := fs.List(dir)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(names, databaseFile().MatchString); i >= 0 {
		return names[i], nil
	}
	return "", nil
}

// markFormat records that the directory has this version's format.
func markFormat(dir string, fs vfs.FS) error {
	return replaceFile(fs, dir, formatFile, fmt.Appendf(nil, "%s%d\n", formatPrefix, formatVersion))
}

// replaceFile replaces a file atomically, even if the machine crashes.
func replaceFile(fs vfs.FS, dir, name string, text []byte) error {
	name = fs.PathJoin(dir, name)
	temporary := name + ".new"
	if err := writeFile(fs, temporary, text); err != nil {
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

package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// Saved contents are directories below snapshotsDir, each a checkpoint of pebble: links to the
// tables, which never change, and copies of the log and the manifest. One that is being
// written has a name that begins with unfinished, and one that is being replaced a name that
// begins with replaced.
const (
	snapshotsDir = "snapshots"
	unfinished   = ".new-"
	replaced     = ".old-"
	restoreFile  = "RESTORE"
)

// span contains all keys: none is empty or begins with 0xff.
var span = pebble.KeyRange{Start: []byte{0}, End: []byte{0xff}}

// savedPath returns the directory of saved contents.
func (d *DB) savedPath(name string) string { return d.fs.PathJoin(d.dir, snapshotsDir, name) }

// Save implements kv.DB.
func (d *DB) Save(name string) error {
	if err := d.Writable(); err != nil {
		return err
	}
	d.saving.Lock()
	defer d.saving.Unlock()
	path, temp := d.savedPath(name), d.savedPath(unfinished+name)
	if err := d.fs.RemoveAll(temp); err != nil {
		return err
	}
	if err := d.db.Checkpoint(temp, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("cannot save a snapshot: %w", err)
	}
	return d.install(temp, path, d.savedPath(replaced+name))
}

// install renames saved contents that are complete to path. Those that were there are kept under
// the name old until then.
func (d *DB) install(temp, path, old string) error {
	if err := d.fs.RemoveAll(old); err != nil {
		return err
	}
	if err := d.fs.Rename(path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := d.fs.PathDir(path)
	err := d.fs.Rename(temp, path)
	if err == nil {
		err = syncDir(d.fs, parent)
	}
	if err != nil {
		return errors.Join(err, recoverSaved(d.fs, d.dir))
	}
	return d.fs.RemoveAll(old)
}

// recoverSaved completes or takes back what a failure or the end of a process has interrupted.
func recoverSaved(files vfs.FS, dir string) error {
	parent := files.PathJoin(dir, snapshotsDir)
	names, err := files.List(parent)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, name := range names {
		path := files.PathJoin(parent, name)
		old, isOld := strings.CutPrefix(name, replaced)
		switch {
		case isOld && !slices.Contains(names, old):
			err = files.Rename(path, files.PathJoin(parent, old))
		case isOld || strings.HasPrefix(name, unfinished):
			err = files.RemoveAll(path)
		}
		if err != nil {
			return err
		}
	}
	return ignoreMissing(files.Remove(files.PathJoin(dir, restoreFile)))
}

// ignoreMissing returns err, or nil if a file or directory is missing.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Saved implements kv.DB.
func (d *DB) Saved() ([]kv.Saved, error) {
	names, err := d.fs.List(d.fs.PathJoin(d.dir, snapshotsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := []kv.Saved{}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, unfinished) || strings.HasPrefix(name, replaced) {
			continue
		}
		at, err := d.savedAt(d.savedPath(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed
		}
		if err != nil {
			return nil, err
		}
		list = append(list, kv.Saved{Name: name, At: at})
	}
	return list, nil
}

// savedAt returns the time when saved contents were written: that of pebble's file of options.
// The time of the directory may change when it is read.
func (d *DB) savedAt(path string) (time.Time, error) {
	names, err := d.fs.List(path)
	if err != nil {
		return time.Time{}, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, "OPTIONS-") {
			info, err := d.fs.Stat(d.fs.PathJoin(path, name))
			if err != nil {
				return time.Time{}, err
			}
			return info.ModTime(), nil
		}
	}
	return time.Time{}, fs.ErrNotExist
}

// Forget implements kv.DB.
func (d *DB) Forget(name string) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	if _, err := d.fs.Stat(d.savedPath(name)); err != nil {
		return notSaved(err)
	}
	return d.fs.RemoveAll(d.savedPath(name))
}

func notSaved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return kv.ErrNotSaved
	}
	return err
}

// Restore implements kv.DB. It copies the contents into a table, which replaces all others in
// one step.
func (d *DB) Restore(name string) error {
	if name == kv.Empty {
		b := d.NewBatch()
		defer b.Close()
		b.DeleteRange(span.Start, span.End)
		return kv.Commit(d, b)
	}
	if err := d.Writable(); err != nil {
		return err
	}
	d.saving.Lock()
	defer d.saving.Unlock()
	if _, err := d.fs.Stat(d.savedPath(name)); err != nil {
		return notSaved(err)
	}
	table := d.fs.PathJoin(d.dir, restoreFile)
	filled, err := d.copySaved(name, table)
	if err == nil && filled {
		_, err = d.db.IngestAndExcise(context.Background(), []string{table}, nil, nil, span)
	}
	err = errors.Join(err, ignoreMissing(d.fs.Remove(table)))
	if err != nil {
		return fmt.Errorf("cannot restore the snapshot %s: %w", name, err)
	}
	if !filled {
		return d.Restore(kv.Empty)
	}
	return nil
}

// copySaved writes all keys and values of saved contents to a table, and reports whether there
// are any.
func (d *DB) copySaved(name, table string) (filled bool, err error) {
	opts := pebbleOptions(d.fs, nil, Options{Log: d.log})
	opts.ReadOnly = true
	saved, err := pebble.Open(d.savedPath(name), opts)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	it, err := saved.NewIter(&pebble.IterOptions{LowerBound: span.Start, UpperBound: span.End})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	f, err := d.fs.Create(table, vfs.WriteCategoryUnspecified)
	if err != nil {
		return false, err
	}
	opts.EnsureDefaults()
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), opts.MakeWriterOptions(0, d.db.TableFormat()))
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = w.Set(it.Key(), value)
		}
		if err != nil {
			return false, errors.Join(err, w.Close())
		}
		filled = true
	}
	return filled, errors.Join(it.Error(), w.Close())
}

package embedded

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// modes calls f for the directory and each file in it. A file that an open store removes
// meanwhile is skipped.
func modes(t *testing.T, dir string, f func(name string, mode fs.FileMode)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		switch {
		case err == nil:
			f(name, info.Mode())
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFileModes checks the modes of all files of a store, and of files that an earlier version
// created with wider ones: only the owner may read them.
func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stores", "data")
	private := func(when string) {
		t.Helper()
		files := 0
		modes(t, dir, func(name string, mode fs.FileMode) {
			want := fs.FileMode(0o600)
			if mode.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if mode.Perm() != want {
				t.Errorf("%s: %s has the mode %v; want %v", when, name, mode.Perm(), want)
			}
		})
		if files < 8 {
			t.Errorf("%s: found only %d files", when, files)
		}
	}
	s := openStore(t, onDisk{Dir: dir})
	s.mustSend(t, "CreateTable", damagedTable)
	private("a new store")
	s.Close()
	s = openStore(t, onDisk{Dir: dir}) // opened again, so that pebble writes a table
	private("opened again")
	s.Close()
	modes(t, dir, func(name string, mode fs.FileMode) {
		wide := fs.FileMode(0o644)
		if mode.IsDir() {
			wide = 0o755
		}
		if err := os.Chmod(name, wide); err != nil {
			t.Fatal(err)
		}
	})
	other := filepath.Join(dir, "notes.txt") // which doesn't belong to the store
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s, err := onDisk{Dir: dir}.open(slog.New(slog.NewTextHandler(&log, nil)), Open)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the mode of a file that isn't the store's was changed to %v: %v", info.Mode(), err)
	}
	os.Remove(other)
	private("with wider modes before")
	if !bytes.Contains(log.Bytes(), []byte("could read the directory")) {
		t.Errorf("got the log %q", &log)
	}
}

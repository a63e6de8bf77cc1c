package disk

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReserve checks that a reserved directory can't be opened or reserved again, that directories
// below it can, and that a store in it is kept.
func TestReserve(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	o := Options{Small: true, Log: slog.New(slog.DiscardHandler)}
	if HasStore(dir) {
		t.Error("a missing directory has a store")
	}
	open := func(dir string) error {
		db, err := Open(dir, o)
		if err != nil {
			return err
		}
		return db.Close()
	}
	if err := open(dir); err != nil || !HasStore(dir) {
		t.Fatal(err, HasStore(dir))
	}
	lock, err := Reserve(dir, "below")
	if err != nil {
		t.Fatal(err)
	}
	const used = "another process uses this directory"
	if _, err := Reserve(dir, "below"); err == nil || !strings.Contains(err.Error(), used) {
		t.Errorf("reserved twice: got %v", err)
	}
	if err := open(dir); err == nil || !strings.Contains(err.Error(), used) {
		t.Errorf("opened while it is reserved: got %v", err)
	}
	below := filepath.Join(dir, "below", "one")
	if err := open(below); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Dir(below)); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Dir(below)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info, err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if err := open(dir); err != nil {
		t.Error(err)
	}
}

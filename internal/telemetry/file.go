package telemetry

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// File is a log file that survives rotation: when another file, or none, stands
// at its path, the next write opens the path again. A rotator therefore only
// renames; nobody has to be told, though [File.Reopen] tells at once.
type File struct {
	path string

	mu      sync.Mutex // leaf
	f       *os.File
	info    fs.FileInfo
	checked time.Time
}

// rotationCheck bounds how often a write looks whether the file was renamed.
const rotationCheck = time.Second

// OpenFile opens path for appending and makes it, readable by its group, where
// it is not there.
func OpenFile(path string) (*File, error) {
	l := &File{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open is called with mu held, or before l is shared.
func (l *File) open() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open log file: %w", err)
	}
	if l.f != nil {
		l.f.Close()
	}
	l.f, l.info, l.checked = f, info, time.Now()
	return nil
}

// Write appends p. When the path can't be opened again after a rotation, it goes
// on writing to the file that it has.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, os.ErrClosed
	}
	if now := time.Now(); now.Sub(l.checked) >= rotationCheck {
		l.checked = now
		if l.moved() {
			_ = l.open()
		}
	}
	return l.f.Write(p)
}

func (l *File) moved() bool {
	info, err := os.Stat(l.path)
	return err != nil || !os.SameFile(info, l.info)
}

// Reopen opens the path again if another file, or none, stands there now.
func (l *File) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return os.ErrClosed
	}
	if !l.moved() {
		return nil
	}
	return l.open()
}

// Close closes the file; a Write after it fails.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

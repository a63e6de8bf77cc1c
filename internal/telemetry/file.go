package telemetry

import (
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// File is a log file that supports rotation: when its path no longer names the open file,
// the next write opens the path again. So rotation only needs to rename the file, without a
// notification; [File.Reopen] is for immediate effect.
type File struct {
	path string

	mu      sync.Mutex // leaf
	f       *os.File
	info    fs.FileInfo
	checked time.Time
}

// rotationCheck is the minimum interval between checks for a renamed file.
const rotationCheck = time.Second

// OpenFile opens path for appending. It creates the file, readable by its group, if it does
// not exist.
func OpenFile(path string) (*File, error) {
	l := &File{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the path. mu is held, or l is not shared yet.
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

// Write appends p. If the path can't be opened again after a rotation, it continues with the
// open file.
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

// Reopen opens the path again unless it still names the open file.
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

// Close closes the file; later writes fail.
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

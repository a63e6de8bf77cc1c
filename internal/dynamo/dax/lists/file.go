package lists

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

const (
	fileName = "attribute-lists"
	header   = "kasoku attribute lists 2\n"
	// headerOne begins files in which no list has an owner. It is as long as header, which
	// takes its place when a list is added.
	headerOne = "kasoku attribute lists 1\n"
)

var errLocked = errors.New("another process has it open: stop that process, or choose another directory")

// file is the lists on disk. One goroutine uses it at a time.
type file struct {
	f        *os.File
	size     int64 // up to which all is well
	version1 bool  // it begins with headerOne
	err      error // after which nothing can be written any more
}

// open opens or makes the file and calls found with each list in it.
func (f *file) open(dir string, log *slog.Logger, found func(*list)) (err error) {
	path := filepath.Join(dir, fileName)
	if f.f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.f.Close()
		}
	}()
	if err := lock(f.f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= int64(len(header)) {
		if fresh, err := f.isPartialHeader(); err != nil {
			return err
		} else if fresh {
			return f.create(dir)
		}
	}
	if err := f.read(info.Size(), found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.size == info.Size() {
		return nil
	}
	log.Warn("the last attribute lists were not written whole, as after a crash; no client has their numbers, and they are dropped",
		slog.String("file", path), slog.Int64("bytes", info.Size()-f.size))
	return f.f.Truncate(f.size)
}

// isPartialHeader tells whether a file, which has no lists, is what a crash left of the attempt to
// make one: a part of the header, with zeros for the rest.
func (f *file) isPartialHeader() (bool, error) {
	b, err := io.ReadAll(io.NewSectionReader(f.f, 0, int64(len(header))))
	if err != nil {
		return false, err
	}
	begun := string(bytes.TrimRight(b, "\x00"))
	if len(begun) == len(header) {
		return false, nil
	}
	return strings.HasPrefix(header, begun) || strings.HasPrefix(headerOne, begun), nil
}

// create makes a file without lists.
func (f *file) create(dir string) error {
	if err := f.f.Truncate(0); err != nil {
		return err
	}
	if err := f.append([]byte(header)); err != nil {
		return err
	}
	return syncDir(dir)
}

// read goes through a file of so many bytes.
func (f *file) read(size int64, found func(*list)) error {
	in := bufio.NewReaderSize(f.f, 1<<16)
	start := make([]byte, len(header))
	if _, err := io.ReadFull(in, start); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if f.version1 = string(start) == headerOne; !f.version1 && string(start) != header {
		return errors.New("it is no file of attribute lists, or of a newer version")
	}
	r := records{in, int64(len(header)), size}
	for {
		l, err := r.next()
		if err != nil {
			return fmt.Errorf("byte %d: %w", r.at, err)
		}
		f.size = r.at
		if l == nil {
			return nil
		}
		found(l)
	}
}

// write appends records with these bodies and waits for the disk.
func (f *file) write(bodies [][]byte) error {
	if err := f.upgrade(); err != nil {
		return err
	}
	n := 0
	for _, body := range bodies {
		n += recordHead + len(body)
	}
	b := make([]byte, 0, n)
	for _, body := range bodies {
		back := int64(len(b))
		b = appendRecord(b, body, f.size+back, back)
	}
	return f.append(b)
}

// upgrade makes a file of version 1 one of version 2, which begins with other bytes and is the
// same else. Only one byte changes.
func (f *file) upgrade() error {
	if !f.version1 || f.err != nil {
		return f.err
	}
	if _, err := f.f.WriteAt([]byte(header), 0); err != nil {
		return err
	}
	if err := f.f.Sync(); err != nil {
		return err
	}
	f.version1 = false
	return nil
}

// append writes bytes and waits for the disk. After an error the file is as it was, or it
// is not written any more.
func (f *file) append(b []byte) error {
	if f.err != nil {
		return f.err
	}
	_, err := f.f.WriteAt(b, f.size)
	if err == nil {
		err = f.f.Sync()
	}
	if err == nil {
		f.size += int64(len(b))
		return nil
	}
	if broken := f.f.Truncate(f.size); broken != nil {
		f.err = errors.Join(err, broken)
	}
	return err
}

func (f *file) close() error {
	f.err = os.ErrClosed
	return f.f.Close()
}

// syncDir makes a new file's name last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

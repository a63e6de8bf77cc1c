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
	// headerOne is the header of files in which lists have no owner. It has the same length
	// as header, which replaces it when a list is added.
	headerOne = "kasoku attribute lists 1\n"
)

var errLocked = errors.New("another process has it open: stop that process, or choose another directory")

// file is the file of lists. It must not be used concurrently.
type file struct {
	absent   bool // the lists are in memory only
	f        *os.File
	size     int64 // end of the valid part
	version1 bool  // the header is headerOne
	err      error // if set, nothing can be written any more
}

// open opens or creates the file and calls found with each list in it.
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

// isPartialHeader reports whether a file without lists is the result of a crash while it was
// created: a part of the header, followed by zeros.
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

// create creates a file without lists.
func (f *file) create(dir string) error {
	if err := f.f.Truncate(0); err != nil {
		return err
	}
	if err := f.append([]byte(header)); err != nil {
		return err
	}
	return syncDir(dir)
}

// read reads a file of the given size.
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

// write appends records with these bodies and syncs the file.
func (f *file) write(bodies [][]byte) error {
	if f.absent {
		return nil
	}
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

// upgrade converts a file from version 1 to version 2, which differ only in the header. It
// writes one byte.
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

// append appends bytes and syncs the file. After an error the file is unchanged, or it isn't
// written any more.
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
	if f.absent {
		return nil
	}
	f.err = os.ErrClosed
	return f.f.Close()
}

// syncDir makes the name of a new file durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

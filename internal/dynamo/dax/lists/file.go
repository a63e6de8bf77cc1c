package lists

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	fileName   = "attribute-lists"
	header     = "kasoku attribute lists 1\n"
	recordHead = 8
)

var errLocked = errors.New("another process has it open")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// file is the lists on disk. One goroutine uses it at a time.
type file struct {
	f    *os.File
	size int64 // up to which all is well
	err  error // after which nothing can be written any more
}

// appendRecord appends a list's record.
func appendRecord(dst, encoded []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(encoded)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(encoded, castagnoli))
	return append(dst, encoded...)
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
	if info.Size() < int64(len(header)) {
		return f.begin(dir)
	}
	if err := f.read(info.Size(), found); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.size == info.Size() {
		return nil
	}
	log.Warn("the last attribute list was not whole, as after a crash; it is dropped", slog.String("file", path), slog.Int64("bytes", info.Size()-f.size))
	return f.f.Truncate(f.size)
}

// begin makes a file without lists. What a crash left of an earlier one is not more than
// a part of the header.
func (f *file) begin(dir string) error {
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
	head := make([]byte, len(header))
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	if !bytes.Equal(head, []byte(header)) {
		return errors.New("it is no file of attribute lists, or of a newer version")
	}
	f.size = int64(len(header))
	for f.size < size {
		n, l, err := readRecord(in, size-f.size)
		if err != nil {
			return fmt.Errorf("damaged at byte %d: %w", f.size, err)
		}
		if l == nil {
			return nil
		}
		f.size += n
		found(l)
	}
	return nil
}

// readRecord reads one of what is left. There is no list if the record is cut off: then
// it is the last one.
func readRecord(in io.Reader, left int64) (n int64, l *list, err error) {
	var head [recordHead]byte
	if left < recordHead {
		return 0, nil, nil
	}
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	length := int64(binary.BigEndian.Uint32(head[:]))
	switch {
	case length == 0 && binary.BigEndian.Uint32(head[4:]) == 0:
		return 0, nil, zeros(in)
	case length == 0 || length > maxBytes:
		return 0, nil, fmt.Errorf("a record of %d bytes", length)
	case left < recordHead+length:
		return 0, nil, nil
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, nil, err
	}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return 0, nil, zeros(in) // if no more follows, it did not get to the disk whole
	}
	l, err = decode(body)
	return recordHead + length, l, err
}

// zeros makes sure that what was read is the end: that nothing follows but zeros, which
// some file systems leave after a crash.
func zeros(in io.Reader) error {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("a record's checksum is wrong")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// append writes records and waits for the disk. After an error the file is as it was, or
// it is not written any more.
func (f *file) append(records []byte) error {
	if f.err != nil {
		return f.err
	}
	_, err := f.f.WriteAt(records, f.size)
	if err == nil {
		err = f.f.Sync()
	}
	if err == nil {
		f.size += int64(len(records))
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

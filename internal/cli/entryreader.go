package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxEntry is the maximum length of a line of a list.
const maxEntry = 64 << 10

// entry is a line of a list.
type entry struct {
	place string // FILE:LINE
	text  string
}

// entryReader reads a list line by line. Empty lines and lines that begin with # are left out.
type entryReader struct {
	in   *bufio.Reader
	name string // of the file
	line int
	read int64 // bytes
}

func newEntryReader(in io.Reader, name string) *entryReader {
	return &entryReader{in: bufio.NewReaderSize(in, maxEntry), name: name}
}

// errBadEntry is the error for a line that is no entry. The next one can be read.
var errBadEntry = errors.New("not a line of a list")

// next returns the next entry. The error wraps errBadEntry, or is io.EOF at the end.
func (r *entryReader) next() (entry, error) {
	for {
		line, err := r.in.ReadSlice('\n')
		r.read += int64(len(line))
		if len(line) == 0 && err != nil {
			return entry{}, err
		}
		r.line++
		e := entry{place: fmt.Sprintf("%s:%d", r.name, r.line)}
		if errors.Is(err, bufio.ErrBufferFull) {
			return e, r.skip()
		}
		if err != nil && err != io.EOF {
			return entry{}, err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case !utf8.Valid(line):
			return e, fmt.Errorf("%w: it is not UTF-8", errBadEntry)
		}
		e.text = string(line)
		return e, nil
	}
}

// skip reads the rest of a line that is too long.
func (r *entryReader) skip() error {
	for {
		rest, err := r.in.ReadSlice('\n')
		r.read += int64(len(rest))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && err != io.EOF {
			return err
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%w: it is longer than %d bytes", errBadEntry, maxEntry)
		}
	}
}

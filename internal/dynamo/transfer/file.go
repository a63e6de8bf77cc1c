package transfer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/ion"
)

// openFile is a file that is being read, decompressed if it is compressed.
type openFile struct {
	*bufio.Reader
	file *os.File
}

// readSize is the size of a file's buffers.
const readSize = 64 << 10

// open opens a file. Compression is recognised by its first bytes, whatever the name. The
// bytes of the file are added to read.
func open(path string, read *atomic.Int64) (*openFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(&countedReader{f, read}, readSize)
	if magic, _ := in.Peek(2); string(magic) != "\x1f\x8b" {
		return &openFile{in, f}, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: damaged gzip: %w", path, err)
	}
	return &openFile{bufio.NewReaderSize(z, readSize), f}, nil
}

// Close closes the file.
func (f *openFile) Close() { f.file.Close() }

// countedReader counts the bytes that are read.
type countedReader struct {
	io.Reader
	read *atomic.Int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

// format is the format of a file of items.
type format string

const (
	jsonLines format = "DynamoDB JSON"
	ionText   format = "Ion"
	csvText   format = "CSV"
)

// recordReader reads records as JSON: {"Item":{...}}, a bare item, or an incremental export's
// Keys and images. The text is valid until the next call. After the last record the error is
// io.EOF; a *badRecord is an error of this record alone.
type recordReader interface {
	Next() (record []byte, line int, err error)
}

// badRecord is an error after which the next record can be read.
type badRecord struct{ error }

// newRecordReader returns a reader for a format. t is the table of the items.
func newRecordReader(in *bufio.Reader, f format, t *table, o *CSV) (recordReader, error) {
	switch f {
	case ionText:
		return ion.NewReader(in), nil
	case csvText:
		return newCSVReader(in, t, o)
	}
	return &lineReader{in: in}, nil
}

// maxLine is the maximum length of a line. An item has at most 400 KB, and a record of an
// incremental export has two of them.
const maxLine = 8 << 20

// lineReader reads records that are one line each. Empty lines are skipped.
type lineReader struct {
	in   *bufio.Reader
	line int
	text []byte
}

// Next returns the next line that is not empty.
func (r *lineReader) Next() ([]byte, int, error) {
	for {
		r.line++
		text, err := r.read()
		if err != nil && len(text) == 0 {
			return nil, r.line, err
		}
		if len(text) > maxLine {
			return nil, r.line, badRecord{fmt.Errorf("a line has more than %d bytes", maxLine)}
		}
		for _, c := range text {
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return text, r.line, nil
			}
		}
	}
}

// read returns the next line with its end. Of a line that is too long, it returns the
// beginning.
func (r *lineReader) read() ([]byte, error) {
	r.text = r.text[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.text) <= maxLine {
			r.text = append(r.text, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && len(r.text) > 0 {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return r.text, nil
	}
}

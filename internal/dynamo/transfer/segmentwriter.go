package transfer

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"github.com/kasoku/kasoku/internal/dynamo/transfer/anonymise"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxDataFile is the size of JSON from which a segment begins another file. After a process is
// killed, a segment continues at the end of its last whole file.
const maxDataFile = 32 << 20

// partPattern matches the names of data files that are not whole.
const partPattern = ".*.part"

// segmentWriter writes a segment's items into data files, which have their names once they are
// whole.
type segmentWriter struct {
	*dumper
	table     *table
	progress  *dumpedTable
	segment   *dumpedSegment
	plan      *anonymise.Plan
	directory string // of the export

	out   *outFile // nil between two files
	torn  bool     // a page has been written to it in part
	line  []byte
	bytes int64 // size of the items in out, as the service counts it
	after segment
}

// outFile is a data file that is being written.
type outFile struct {
	file  *os.File
	sum   hash.Hash
	zip   *gzip.Writer
	size  int // of the JSON
	items int64
}

// run writes the segment. After an error, the pages before it are kept.
func (w *segmentWriter) run(ctx context.Context, number, total int) error {
	err := w.caller.scan(ctx, w.table, number, total, w.cfg.Consistent, w.segment.segment, w.page)
	if err == nil && w.out == nil && len(w.segment.Files) == 0 {
		w.after = segment{End: true}
		err = w.open() // an empty file, as exports have for empty partitions
	}
	switch {
	case w.out == nil:
	case w.torn:
		w.out.file.Close()
		os.Remove(w.out.file.Name())
	default:
		err = errors.Join(err, w.finish())
	}
	return err
}

// page writes a page.
func (w *segmentWriter) page(items [][]byte, after segment) error {
	w.torn = true
	if w.out == nil && len(items) > 0 {
		if err := w.open(); err != nil {
			return err
		}
	}
	for _, text := range items {
		if err := w.item(text); err != nil {
			return err
		}
	}
	w.after, w.torn = after, false
	w.counters.read.Add(int64(len(items)))
	w.cfg.progress(&w.counters)
	switch {
	case w.out == nil:
		// A page without items: its position is part of the state alone.
		w.mu.Lock()
		w.segment.segment = after
		w.mu.Unlock()
		return w.state.save(false)
	case w.out.size >= maxDataFile:
		return w.finish()
	}
	return nil
}

// item writes an item as a line.
func (w *segmentWriter) item(text []byte) error {
	w.line = append(w.line[:0], `{"Item":`...)
	if w.cfg.Rules == nil {
		size, ok := wire.ItemSize(text)
		if !ok {
			return fmt.Errorf("table %s: an item of the answer can't be read", w.table.name)
		}
		w.bytes += int64(size)
		if bytes.IndexByte(text, '\n') >= 0 { // white space: strings have it escaped
			var compact bytes.Buffer
			if err := json.Compact(&compact, text); err != nil {
				return err
			}
			text = compact.Bytes()
		}
		w.line = append(w.line, text...)
	} else {
		v, err := value.ParseItem(text)
		if err != nil {
			return fmt.Errorf("table %s: an item of the answer can't be read: %w", w.table.name, err)
		}
		v = w.plan.Apply(v)
		w.bytes += int64(v.ItemSize())
		w.line = v.AppendItem(w.line)
	}
	w.line = append(w.line, "}\n"...)
	w.out.size += len(w.line)
	w.out.items++
	w.counters.items.Add(1)
	w.counters.bytes.Add(int64(len(w.line)))
	_, err := w.out.zip.Write(w.line)
	return err
}

// open begins a data file.
func (w *segmentWriter) open() error {
	f, err := os.CreateTemp(filepath.Join(w.directory, dataDirectory), partPattern)
	if err != nil {
		return err
	}
	o := &outFile{file: f, sum: md5.New()}
	o.zip = gzip.NewWriter(io.MultiWriter(f, o.sum))
	w.out = o
	return nil
}

// finish ends the data file, and notes the position of the segment after it.
func (w *segmentWriter) finish() error {
	o := w.out
	w.out = nil
	err := o.zip.Close()
	if err == nil {
		err = o.file.Sync()
	}
	if e := o.file.Close(); err == nil {
		err = e
	}
	name := newName()
	if err == nil {
		err = os.Rename(o.file.Name(), filepath.Join(w.directory, dataDirectory, name))
	}
	if err != nil {
		os.Remove(o.file.Name())
		return err
	}
	sum := o.sum.Sum(nil)
	w.mu.Lock()
	w.segment.Files = append(w.segment.Files, manifestFile{ItemCount: o.items, MD5Checksum: base64.StdEncoding.EncodeToString(sum), ETag: etagOf(sum),
		DataFileS3Key: exportRoot + "/" + w.progress.ID + "/" + dataDirectory + "/" + name})
	w.segment.segment = w.after
	w.progress.Bytes += w.bytes
	w.mu.Unlock()
	w.bytes = 0
	return w.state.save(true)
}

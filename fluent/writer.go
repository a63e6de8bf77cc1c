package fluent

import (
	"bytes"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// WriterOptions are options for NewWriter. The zero WriterOptions has the defaults.
type WriterOptions struct {
	// Key is the name of the field for the line; "message" if empty.
	Key string

	// MaxLine is the maximum length of a line in bytes, 64 KiB if 0. A longer one is posted
	// in pieces, all except the last with the field "partial": true. It also bounds the
	// memory for a line that has not ended.
	MaxLine int
}

// Writer is an io.Writer that posts each line written to it as a record. It is safe for
// concurrent use; the lines of one call stay together.
type Writer struct {
	to    poster
	tag   string
	key   string
	limit int

	mu     sync.Mutex
	record Record
	rest   []byte // of a line that has not ended; at most limit bytes
	closed bool
}

var _ io.WriteCloser = (*Writer)(nil)

// NewWriter returns a Writer that posts to l under tag, for programs and packages that log
// text:
//
//	log.SetOutput(fluent.NewWriter(logger, "app.log", nil))
//
// Options may be nil.
func NewWriter(l *Logger, tag string, opts *WriterOptions) *Writer {
	return newWriter(l, tag, opts)
}

func newWriter(to poster, tag string, opts *WriterOptions) *Writer {
	w := &Writer{to: to, tag: tag, key: "message", limit: 64 << 10}
	if opts != nil && opts.Key != "" {
		w.key = opts.Key
	}
	if opts != nil && opts.MaxLine > 0 {
		w.limit = opts.MaxLine
	}
	return w
}

// Write posts the lines in p, without the newline or a carriage return before it, and
// ignores empty lines. Data after the last newline is kept for the next call. The error is
// that of Logger.Post; n is then the number of bytes before the refused line, which the
// caller may write again.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, ErrClosed
	}
	for n < len(p) {
		used, err := w.take(p[n:])
		if err != nil {
			return n, err
		}
		n += used
	}
	return n, nil
}

// take posts or keeps the first line of p, or as much of it as fits into a record, and
// returns the number of bytes consumed, 0 if the post fails.
func (w *Writer) take(p []byte) (used int, err error) {
	end := bytes.IndexByte(p, '\n')
	line, used := p, len(p)
	if end >= 0 {
		line, used = p[:end], end+1
	}
	if room := w.limit - len(w.rest); len(line) > room {
		return w.takePiece(line, room)
	}
	if end < 0 {
		w.rest = append(w.rest, line...)
		return used, nil
	}
	return used, w.postWith(line, false)
}

// takePiece posts the kept data and at most room bytes of line, cut between characters if
// possible.
func (w *Writer) takePiece(line []byte, room int) (used int, err error) {
	used = room
	for i := range min(utf8.UTFMax, room+1) {
		if utf8.RuneStart(line[room-i]) {
			used = room - i
			break
		}
	}
	if used == 0 && len(w.rest) == 0 {
		used = room // a character is longer than the bound
	}
	return used, w.postWith(line[:used], true)
}

// postWith posts the kept data followed by line. If that fails, the kept data remains.
func (w *Writer) postWith(line []byte, partial bool) error {
	kept := len(w.rest)
	if kept > 0 {
		w.rest = append(w.rest, line...)
		line = w.rest
	}
	if err := w.post(line, partial); err != nil {
		w.rest = w.rest[:kept]
		return err
	}
	w.rest = w.rest[:0]
	return nil
}

func (w *Writer) post(line []byte, partial bool) error {
	if !partial {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	if len(line) == 0 {
		return nil
	}
	w.record.Reset().ByteString(w.key, line)
	if partial {
		w.record.Bool("partial", true)
	}
	return w.to.PostWithTime(w.tag, time.Time{}, &w.record)
}

// Close posts the data written after the last newline. Later writes return ErrClosed. It
// doesn't close the Logger, which must be closed after it. A failed Close can be repeated.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.postWith(nil, false); err != nil {
		return err
	}
	w.closed = true
	return nil
}

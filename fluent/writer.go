package fluent

import (
	"bytes"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// WriterOptions are options for NewWriter. A zero WriterOptions has the defaults.
type WriterOptions struct {
	// Key is the name of the field that has the line; "message" if empty.
	Key string

	// MaxLine is the greatest length of a line in bytes, 64 KiB if 0. A longer
	// one is posted in pieces, all but the last with the field "partial": true.
	// It also bounds what the Writer keeps of a line that has not ended.
	MaxLine int
}

// Writer is an io.Writer that posts each line written to it as a record. It may
// be used concurrently; what one call writes stays together.
type Writer struct {
	to   poster
	tag  string
	key  string
	most int

	mu     sync.Mutex
	record Record
	rest   []byte // of a line that has not ended; never more than most
	closed bool
}

var _ io.WriteCloser = (*Writer)(nil)

// NewWriter returns a Writer that posts to l under tag, for programs and
// packages that log text:
//
//	log.SetOutput(fluent.NewWriter(logger, "app.log", nil))
//
// Options may be nil.
func NewWriter(l *Logger, tag string, opts *WriterOptions) *Writer {
	return newWriter(l, tag, opts)
}

func newWriter(to poster, tag string, opts *WriterOptions) *Writer {
	w := &Writer{to: to, tag: tag, key: "message", most: 64 << 10}
	if opts != nil && opts.Key != "" {
		w.key = opts.Key
	}
	if opts != nil && opts.MaxLine > 0 {
		w.most = opts.MaxLine
	}
	return w
}

// Write posts the lines in p, without the newline or a carriage return before
// it, and leaves out those that are empty. What follows the last newline is
// kept for the next call. The error is that of Logger.Post; n is then the number
// of bytes before the line that was refused, which a caller may write again.
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

// take posts or keeps the first line of p, or as much of it as a record may
// have, and returns how much of p that is. If the post fails it is nothing.
func (w *Writer) take(p []byte) (used int, err error) {
	end := bytes.IndexByte(p, '\n')
	line, used := p, len(p)
	if end >= 0 {
		line, used = p[:end], end+1
	}
	if room := w.most - len(w.rest); len(line) > room {
		return w.takePiece(line, room)
	}
	if end < 0 {
		w.rest = append(w.rest, line...)
		return used, nil
	}
	return used, w.postWith(line, false)
}

// takePiece posts what is kept and the first bytes of line, room at most, and
// cut between characters where there are any.
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

// postWith posts what is kept and line after it. If that fails, what is kept
// remains.
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
	w.record.Reset().text(w.key, line)
	if partial {
		w.record.Bool("partial", true)
	}
	return w.to.PostWithTime(w.tag, time.Time{}, &w.record)
}

// Close posts what was written after the last newline. Later writes return
// ErrClosed. It doesn't close the Logger, which must be closed after it. A Close
// that failed can be called again.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.postWith(nil, false); err != nil {
		return err
	}
	w.closed = true
	return nil
}

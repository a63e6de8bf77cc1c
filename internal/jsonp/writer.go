package jsonp

import (
	"errors"
	"io"
)

// Writer wraps a body of any length while it is received. It writes large pieces as they
// are, joins small ones with their neighbours, and ends the call at Close. The zero Writer
// needs a Reset first.
type Writer struct {
	clean  cleaner
	to     io.Writer
	buf    []byte
	prefix prefix
	tails  [2]string // of a body, and of an empty one
	err    error
}

const writerBuffer = 4 << 10

// errClosed is returned by writes after Close.
var errClosed = errors.New("jsonp: the call has ended")

// Reset begins a call whose bytes are written to w. c is not used afterwards.
func (w *Writer) Reset(to io.Writer, c *Call) {
	if w.buf == nil {
		w.buf = make([]byte, 0, writerBuffer)
	}
	w.clean = cleaner{verbatim: c.filter.cfg.Mode == Legacy}
	w.to, w.prefix, w.err = to, prefix{}, nil
	w.tails = [2]string{c.tail(false), c.tail(true)}
	w.buf = c.AppendHead(w.buf[:0])
}

// Write wraps the next piece of the body. After an error all further calls fail.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.err = w.clean.clean(p, w)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close ends the call, and does not close the underlying writer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.clean.finish(w); err != nil {
		w.err = err
		return err
	}
	tail := w.tails[0]
	if w.prefix.kind() == Empty {
		tail = w.tails[1]
	}
	w.buf = append(w.buf, tail...)
	if w.err = w.flush(); w.err != nil {
		return w.err
	}
	w.err = errClosed
	return nil
}

func (w *Writer) write(p []byte) error {
	_ = w.prefix.write(p) // it never fails
	if len(w.buf)+len(p) <= writerBuffer {
		w.buf = append(w.buf, p...)
		return nil
	}
	// The buffer has to be written anyway: fill it first.
	n := 0
	if len(w.buf) > 0 {
		n = writerBuffer - min(len(w.buf), writerBuffer)
		w.buf = append(w.buf, p[:n]...)
		if err := w.flush(); err != nil {
			return err
		}
	}
	if p = p[n:]; len(p) < writerBuffer {
		w.buf = append(w.buf, p...)
		return nil
	}
	_, err := w.to.Write(p)
	return err
}

func (w *Writer) flush() error {
	_, err := w.to.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

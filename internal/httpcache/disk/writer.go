package disk

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"sync"
)

// Writer is a body that is being written. One goroutine writes; any number may read the data
// written so far. It ends with Finish or Discard, and is closed by Close after the last
// read.
type Writer struct {
	part     *Part
	name     name
	f        Handle
	off      int64
	reserved int64
	partial  uint32 // checksum of the incomplete block
	err      error
	ended    bool // finished or discarded

	mu   sync.RWMutex
	sums []uint32 // of complete blocks
}

// Create begins a body. length is -1 if it is unknown. It returns ErrFull if the body
// exceeds the maximum length, and ErrPaused during a pause.
func (p *Part) Create(length int64) (*Writer, error) {
	t := p.tier
	if length > t.opts.MaxBody {
		return nil, ErrFull
	}
	t.mu.Lock()
	resting := t.paused()
	t.mu.Unlock()
	if resting != nil {
		return nil, ErrPaused
	}
	n := drawName()
	f, err := t.fs.Create(p.path(n, bodyEnding))
	if err != nil {
		return nil, t.failed(fmt.Errorf("disk: %w", err))
	}
	return &Writer{part: p, name: n, f: f}, nil
}

// Write appends to the body. After an error nothing more can be written, but the data so far
// can still be read.
func (w *Writer) Write(b []byte) (int, error) {
	switch {
	case w.err != nil || w.ended:
		return 0, cmp.Or(w.err, ErrGone)
	case w.off+int64(len(b)) > w.part.tier.opts.MaxBody:
		w.err = ErrFull
	default:
		w.err = w.room(w.off + int64(len(b)))
	}
	if w.err != nil {
		return 0, w.err
	}
	if n, err := w.f.WriteAt(b, w.off); err != nil {
		w.err = w.part.tier.failed(fmt.Errorf("disk: %w", err))
		return n, w.err
	}
	w.sum(b)
	w.off += int64(len(b))
	return len(b), nil
}

// room reserves size bytes.
func (w *Writer) room(size int64) error {
	if size = pages(size); size <= w.reserved {
		return nil
	}
	if err := w.part.tier.reserve(size - w.reserved); err != nil {
		return err
	}
	w.reserved = size
	return nil
}

// sum adds b, which begins at off, to the checksums.
func (w *Writer) sum(b []byte) {
	at := w.off % BlockSize
	for len(b) > 0 {
		n := min(BlockSize-at, int64(len(b)))
		w.partial = crc32.Update(w.partial, castagnoli, b[:n])
		if b, at = b[n:], at+n; at == BlockSize {
			w.complete()
			at = 0
		}
	}
}

// complete ends a block.
func (w *Writer) complete() {
	w.mu.Lock()
	w.sums = append(w.sums, w.partial)
	w.mu.Unlock()
	w.partial = 0
}

// Len returns the number of bytes written.
func (w *Writer) Len() int64 { return w.off }

// Checked returns the number of bytes in complete blocks, which ReadSome can return.
func (w *Writer) Checked() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return int64(len(w.sums)) * BlockSize
}

// ReadSome reads bytes at off, which must be below Checked. buf must hold a block; the
// result is a slice of it.
func (w *Writer) ReadSome(off int64, buf []byte) ([]byte, error) {
	w.mu.RLock()
	sums := w.sums
	w.mu.RUnlock()
	return readBlocks(w.f, sums, int64(len(sums))*BlockSize, off, buf)
}

// Finish ends the body, which must not be empty, and reserves room for a head of that size.
// The caller must then Commit or Drop it. After an error the Writer is discarded.
func (w *Writer) Finish(headSize int) (*File, error) {
	f, err := w.finish(headSize)
	if err != nil {
		w.err = err
		w.Discard()
		return nil, err
	}
	w.ended = true
	return f, nil
}

func (w *Writer) finish(headSize int) (*File, error) {
	if w.err != nil || w.off == 0 {
		return nil, cmp.Or(w.err, errEmpty)
	}
	body, head := pages(w.off+trailerSize(w.off)), pages(int64(headSize))
	if err := w.room(body + head); err != nil {
		return nil, err
	}
	sums := w.sums // only this goroutine appends
	if w.off%BlockSize > 0 {
		sums = append(sums[:len(sums):len(sums)], w.partial)
	}
	if _, err := w.f.WriteAt(encodeSums(w.name, w.off, sums), w.off); err != nil {
		return nil, w.part.tier.failed(fmt.Errorf("disk: %w", err))
	}
	f := &File{part: w.part, name: w.name, length: w.off, size: body + head, head: head}
	f.sums.Store(&sums)
	w.part.tier.charge(f.size - w.reserved)
	return f, nil
}

// Discard removes the body if it was not finished. The data so far can be read until Close.
func (w *Writer) Discard() {
	if w.ended {
		return
	}
	w.ended, w.err = true, cmp.Or(w.err, ErrGone)
	w.part.remove(w.name, bodyEnding)
	w.part.tier.charge(-w.reserved)
}

// Close closes the file's descriptor.
func (w *Writer) Close() { _ = w.f.Close() }

package origin

import (
	"errors"
	"os"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// Hold says how much of an answer is read ahead of its reader, so that one that breaks off
// meanwhile can be asked for again. The zero value holds nothing.
type Hold struct {
	// Bytes is the longest body that is held. One that is known to be longer is not held; of
	// one whose length is not known so much is.
	Bytes int64
	// Time is how long after the head a body is held, so that a slow one is not kept from its
	// reader.
	Time time.Duration
	// Memory counts what is held. It must not be nil.
	Memory Memory
}

// errHoldExpired ends a read because the time of Hold is over.
var errHoldExpired = errors.New("origin: the body is held no longer")

// Memory counts bytes that are held.
type Memory interface {
	// Take counts n bytes more, or returns false if there is no room for them.
	Take(n int64) bool
	// Give takes n bytes back.
	Give(n int64)
}

// firstHeldPiece and maxHeldPiece are the sizes of the first and of the largest piece of a body of
// unknown length; each piece is twice as large as the one before.
const (
	firstHeldPiece = 8 << 10
	maxHeldPiece   = 256 << 10
)

// held is what was read of a body ahead of its reader.
type held struct {
	pieces    [][]byte // the first begins where the reader is
	firstSize int      // the capacity of the first piece, from which it was taken
	memory    Memory
	until     time.Time // set while Hold reads
	expired   bool      // its time is over
}

// Hold reads the body ahead as h says, before anything of it was read. It returns the fault
// with which the body broke off, nil if it has not, or not yet.
func (in *Inbound) Hold(h Hold) *Fault {
	if in.over || h.Bytes <= 0 || in.Length > h.Bytes || in.framing == http1.NoBody || in.complete() {
		return nil
	}
	in.held.memory, in.held.until, in.held.expired = h.Memory, time.Now().Add(h.Time), false
	err := in.readAhead(h.Bytes)
	in.held.until, in.deadline = time.Time{}, time.Time{}
	if err == nil {
		return nil
	}
	in.end(err)
	fault, broke := in.err.(*Fault)
	if !broke {
		return nil // the body is whole
	}
	in.held.drop()
	return fault
}

// complete reports whether all of a body of known length was read with the head.
func (in *Inbound) complete() bool {
	return in.framing == http1.Length && in.x != nil && in.left <= int64(in.x.end-in.x.begin)
}

// readAhead reads up to most bytes into pieces. It returns the error that has ended the
// body, nil if there may be more of it.
func (in *Inbound) readAhead(limit int64) error {
	size := int64(firstHeldPiece)
	if in.Length >= 0 {
		size = in.Length
	}
	for n := int64(0); n < limit; size = min(2*size, maxHeldPiece) {
		if size = min(size, limit-n); !in.held.memory.Take(size) {
			return nil
		}
		piece := make([]byte, 0, size)
		for len(piece) < cap(piece) {
			k, err := in.readBody(piece[len(piece):cap(piece)])
			piece = piece[:len(piece)+k]
			n += int64(k)
			if err != nil || in.held.expired {
				in.held.add(piece)
				if in.held.expired {
					return nil
				}
				return err
			}
		}
		in.held.add(piece)
	}
	return nil
}

// holdExpired reports whether a read has ended because the time of Hold is over, which is no error
// of the body's.
func (in *Inbound) holdExpired(err error) bool {
	h := &in.held
	h.expired = !h.until.IsZero() && errors.Is(err, os.ErrDeadlineExceeded) && in.ctx.Err() == nil && !in.requestFailed.Load() && !time.Now().Before(h.until)
	return h.expired
}

func (h *held) add(piece []byte) {
	if len(piece) == 0 {
		h.memory.Give(int64(cap(piece)))
		return
	}
	if len(h.pieces) == 0 {
		h.firstSize = cap(piece)
	}
	h.pieces = append(h.pieces, piece)
}

// read takes bytes out of what is held.
func (h *held) read(p []byte) int {
	n := copy(p, h.pieces[0])
	if h.pieces[0] = h.pieces[0][n:]; len(h.pieces[0]) == 0 {
		h.memory.Give(int64(h.firstSize))
		h.pieces[0] = nil
		if h.pieces = h.pieces[1:]; len(h.pieces) > 0 {
			h.firstSize = cap(h.pieces[0])
		}
	}
	return n
}

// releaseBuffers gives back what is held.
func (h *held) drop() {
	for i, piece := range h.pieces {
		size := cap(piece)
		if i == 0 {
			size = h.firstSize
		}
		h.memory.Give(int64(size))
	}
	h.pieces = nil
}

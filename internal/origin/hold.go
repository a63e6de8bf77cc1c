package origin

import (
	"errors"
	"os"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// Hold configures how much of an answer's body is read ahead of its reader, so that the
// request can be retried if the body breaks off meanwhile. The zero value reads nothing
// ahead.
type Hold struct {
	// Bytes is the maximum length of a held body. A body known to be longer is not held; of
	// one of unknown length, this many bytes are held.
	Bytes int64
	// Time is the maximum time after the head that a body is held back from its reader.
	Time time.Duration
	// Memory accounts for the held bytes. It must not be nil.
	Memory Memory
}

// errHoldExpired ends a read when Hold.Time is over.
var errHoldExpired = errors.New("origin: the time for holding the body is over")

// Memory accounts for held bytes.
type Memory interface {
	// Take reserves n bytes, or returns false if there is no room for them.
	Take(n int64) bool
	// Release releases n bytes.
	Release(n int64)
}

// The sizes of the first and of the largest piece of a body of unknown length. Each piece is
// twice as large as the previous one.
const (
	firstHeldPiece = 8 << 10
	maxHeldPiece   = 256 << 10
)

// held is the part of a body that was read ahead of its reader.
type held struct {
	pieces    [][]byte // the first begins at the reader's position
	firstSize int      // original capacity of the first piece, as taken from memory
	memory    Memory
	until     time.Time // deadline; set while Hold reads
	expired   bool      // the deadline is over
}

// Hold reads the body ahead as configured by h. It must be called before any read of the
// body. It returns the fault that ended the body, nil if it has not failed so far.
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
		return nil // the body is complete
	}
	in.held.drop()
	return fault
}

// complete reports whether all of a body of known length was read together with the head.
func (in *Inbound) complete() bool {
	return in.framing == http1.Length && in.x != nil && in.left <= int64(in.x.end-in.x.begin)
}

// readAhead reads up to limit bytes into pieces. It returns the error that ended the body,
// nil if more may follow.
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

// holdExpired reports whether a read ended only because the time of Hold is over.
func (in *Inbound) holdExpired(err error) bool {
	h := &in.held
	h.expired = !h.until.IsZero() && errors.Is(err, os.ErrDeadlineExceeded) && in.ctx.Err() == nil && !in.requestFailed.Load() && !time.Now().Before(h.until)
	return h.expired
}

func (h *held) add(piece []byte) {
	if len(piece) == 0 {
		h.memory.Release(int64(cap(piece)))
		return
	}
	if len(h.pieces) == 0 {
		h.firstSize = cap(piece)
	}
	h.pieces = append(h.pieces, piece)
}

// read consumes held bytes.
func (h *held) read(p []byte) int {
	n := copy(p, h.pieces[0])
	if h.pieces[0] = h.pieces[0][n:]; len(h.pieces[0]) == 0 {
		h.memory.Release(int64(h.firstSize))
		h.pieces[0] = nil
		if h.pieces = h.pieces[1:]; len(h.pieces) > 0 {
			h.firstSize = cap(h.pieces[0])
		}
	}
	return n
}

// drop releases all held bytes.
func (h *held) drop() {
	for i, piece := range h.pieces {
		size := cap(piece)
		if i == 0 {
			size = h.firstSize
		}
		h.memory.Release(int64(size))
	}
	h.pieces = nil
}

package httpcache

import (
	"io"
	"slices"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/pages"
)

// Body is the whole body of a response, in memory or in a file. Its bytes never change,
// but once they may move.
type Body struct {
	mem    atomic.Pointer[memory]
	file   *disk.File // nil: it is in memory
	length int64
	stage  atomic.Uint32
	wraps  atomic.Pointer[wrapping] // nil: nobody has asked for it in a call
	kept   int32                    // how many stored resources have it, if its senders are counted; lent.mu guards it
}

// memory is where a body lies: in pieces on the heap, or in pages, whose one piece is
// valid as long as run is reachable.
type memory struct {
	chunks  [][]byte
	run     *pages.Run
	lending *lending // nil: its senders are not counted
}

// Stages of a body that may move to pages.
const (
	unused uint32 = iota
	usedOnce
	settled // it has moved, or stays where it is
)

// onDisk makes a body of a file.
func onDisk(f *disk.File) *Body { return &Body{file: f, length: f.Len()} }

// gone tells whether the body was dropped from the disk.
func (b *Body) gone() bool { return b.file != nil && b.file.Gone() }

// NewBody makes a body of chunks, which must not change any more. Empty ones must
// not be among them.
func NewBody(chunks ...[]byte) *Body {
	b := &Body{}
	b.mem.Store(&memory{chunks: chunks})
	for _, c := range chunks {
		b.length += int64(len(c))
	}
	return b
}

// Len is the body's length in bytes.
func (b *Body) Len() int64 { return b.length }

// Bytes returns the body if it lies in one piece of memory, as those up to onePiece
// that are not on disk do. It is valid as long as b is reachable.
func (b *Body) Bytes() (body []byte, ok bool) {
	if b.file != nil {
		return nil, false
	}
	return b.mem.Load().bytes()
}

func (m *memory) bytes() (body []byte, ok bool) {
	switch len(m.chunks) {
	case 0:
		return nil, true
	case 1:
		return m.chunks[0], true
	}
	return nil, false
}

// lend is Bytes for an answer, which has to return the memory that the body lies in. A
// body that is lent for the second time moves to pages if that is worth it: most are
// stored and never asked for again.
func (b *Body) lend() (body []byte, from *memory, ok bool) {
	if b.file != nil {
		return nil, nil, false
	}
	if b.movable() && b.stage.Load() != settled && !b.stage.CompareAndSwap(unused, usedOnce) {
		b.move()
	}
	m := b.mem.Load()
	if body, ok = m.bytes(); !ok {
		return nil, nil, false
	}
	return body, m.hold(), true
}

func (b *Body) movable() bool { return b.length >= leastPaged && b.length <= mostPaged }

// move puts the body into pages, once. Who has its bytes on the heap keeps them.
func (b *Body) move() {
	if !b.stage.CompareAndSwap(usedOnce, settled) {
		return
	}
	old := b.mem.Load()
	run := pages.Join(old.chunks...)
	if run == nil {
		return
	}
	next := &memory{chunks: [][]byte{run.Bytes()}, run: run}
	if old.lending == nil {
		b.mem.Store(next)
		return
	}
	next.lending = newLending(old.lending.all, next)
	b.replace(old, next)
}

// replace has the store keep the body in other memory.
func (b *Body) replace(old, next *memory) {
	l := old.lending.all
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.kept > 0 {
		next.keep()
	}
	b.mem.Store(next)
	if b.kept > 0 {
		old.letGo()
	}
}

// WriteRange writes n bytes from offset from on, with a Write for each piece. The
// range must lie within the body. An error that wraps disk.ErrDamaged or disk.ErrGone
// is the body's, any other is w's.
func (b *Body) WriteRange(w io.Writer, from, n int64) error {
	if b.file != nil {
		r, err := b.file.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		return r.WriteRange(w, from, n)
	}
	m := b.mem.Load().hold()
	defer m.Return()
	for _, c := range m.chunks {
		if n <= 0 {
			return nil
		}
		if from >= int64(len(c)) {
			from -= int64(len(c))
			continue
		}
		c = c[from:]
		c = c[:min(n, int64(len(c)))]
		from, n = 0, n-int64(len(c))
		if _, err := w.Write(c); err != nil {
			return err
		}
	}
	return nil
}

// weight is what the body takes of memory, wherever it lies there.
func (b *Body) weight() int64 {
	if b.file != nil {
		return 0
	}
	w := b.mem.Load().weight()
	if b.movable() {
		w = max(w, pages.SizeOf(b.length)+runOverhead)
	}
	return w
}

func (m *memory) weight() int64 {
	if m.run != nil {
		return pages.SizeOf(int64(len(m.run.Bytes()))) + runOverhead
	}
	w := int64(0)
	for _, c := range m.chunks {
		w += int64(cap(c)) + chunkOverhead
	}
	return w
}

const (
	// onePiece is up to which length a body is put into one piece, so that it is
	// sent with the head in one write.
	onePiece = 1 << 20
	// smallestChunk and largestChunk are what is taken for the next bytes of a
	// body: less at first when its length is not known.
	smallestChunk = 4 << 10
	largestChunk  = 256 << 10
	// chunkOverhead is a piece's slice header.
	chunkOverhead = 24
	// leastPaged and mostPaged bound the bodies that move to pages, from where they
	// are sent without being copied: below, copying costs as little; above, moving would
	// keep its client waiting for more than a few milliseconds.
	leastPaged = 64 << 10
	mostPaged  = 16 << 20
	// runOverhead is what a run takes beside its pages.
	runOverhead = 128
)

// chunkSize is how much to take for the next bytes of a body of which got bytes
// are there. length is -1 when it is not known.
func chunkSize(got, length int64) int64 {
	switch {
	case length < 0:
		return min(max(got, smallestChunk), largestChunk)
	case length <= onePiece:
		return length - got
	}
	return min(length-got, largestChunk)
}

// gather makes a body of the pieces that came: in one if it is short, and
// without more unused memory than an eighth.
func gather(pieces [][]byte) *Body {
	total := 0
	for _, p := range pieces {
		total += len(p)
	}
	switch {
	case total == 0:
		return NewBody()
	case len(pieces) > 1 && total <= onePiece:
		return NewBody(slices.Concat(pieces...))
	}
	last := &pieces[len(pieces)-1]
	switch {
	case len(*last) == 0:
		pieces = pieces[:len(pieces)-1]
	case cap(*last)-len(*last) > len(*last)/8:
		*last = slices.Clip(append([]byte(nil), *last...))
	}
	return NewBody(pieces...)
}
